import type { ErrorResponse } from "@langchain/protocol";
import { dropPrototypeKeys, isJsonTooDeep, maxJsonDepth } from "../../platform/json-depth.ts";
import { type CommandEnvelope, commandEnvelope } from "./commands.ts";
import { errorEnvelope, ProtocolError } from "./protocol-error.ts";

/** One message of a client, over HTTP or a WebSocket: a command, or the error to answer with. */
export function readCommand(text: string): { command: CommandEnvelope } | { refusal: ErrorResponse } {
  if (isJsonTooDeep(text))
    return refused(
      null,
      `The command is nested deeper than ${maxJsonDepth} levels. Send less in one another.`,
    );
  const value = parse(text);
  const command = commandEnvelope.safeParse(value);
  if (command.success) return { command: command.data };
  return refused(
    idOf(value),
    "A command is an object with id (a whole number, 0 or more), method (text) and params (an object).",
  );
}

/** Undefined for what is no JSON. */
function parse(text: string): unknown {
  try {
    return dropPrototypeKeys(text, JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** The id of a command that is otherwise malformed, so that its sender knows which one it was. */
function idOf(command: unknown): number | null {
  const parsed = commandEnvelope.shape.id.safeParse((command as { id?: unknown } | null)?.id);
  return parsed.success ? parsed.data : null;
}

function refused(id: number | null, message: string): { refusal: ErrorResponse } {
  return { refusal: errorEnvelope(id, new ProtocolError("invalid_argument", message)) };
}
