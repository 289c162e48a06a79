/** The codes the protocol knows, as far as this server uses them. */
export type CommandErrorCode =
  | "invalid_argument"
  | "unknown_command"
  | "unknown_error"
  | "no_such_run"
  | "no_such_interrupt"
  | "no_such_checkpoint"
  | "not_supported";

/** Becomes `{ type: "error", error: code, message }`; the HTTP status stays 200, as the protocol wants it. */
export class CommandError extends Error {
  readonly code: CommandErrorCode;

  constructor(code: CommandErrorCode, message: string) {
    super(message);
    this.name = "CommandError";
    this.code = code;
  }
}
