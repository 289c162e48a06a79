import type { ErrorResponse } from "@langchain/protocol";
import { z } from "zod";
import { dropPrototypeKeys, isJsonTooDeep, maxJsonDepth } from "../json-depth.ts";
import { errorEnvelope, ProtocolError } from "./protocol-error.ts";

/** The shape that all commands share. */
const commandEnvelope = z.object({
  id: z.int().min(0),
  method: z.string().min(1).max(200),
  params: z.record(z.string(), z.unknown()).nullish(),
});
export type CommandEnvelope = z.output<typeof commandEnvelope>;

/** One message of a client, over HTTP or a WebSocket: a command, or the error to answer with. */
export function readCommand(text: string): { command: CommandEnvelope } | { refusal: ErrorResponse } {
  if (isJsonTooDeep(text))
    return refused(
      null,
      `The command is nested deeper than ${maxJsonDepth} levels. Send less in one another.`,
    );
  return toCommand(parse(text));
}

/** The same for a body that has been read already. */
export function toCommand(value: unknown): { command: CommandEnvelope } | { refusal: ErrorResponse } {
  const command = commandEnvelope.safeParse(value);
  if (command.success) return { command: command.data };
  return refused(
    idOf(value),
    "A command is an object with id (a whole number, 0 or more), method (text) and params (an object).",
  );
}

/** Params of a command as its schema has them; what does not fit is named. */
export function readParams<T>(schema: z.ZodType<T>, value: unknown, method: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.slice(0, 5).map(describe);
  throw new ProtocolError("invalid_argument", `${method}: ${problems.join("; ")}.`);
}

/** Of a union the closest branch explains more than the union itself. */
function describe(issue: z.core.$ZodIssue): string {
  const closest =
    issue.code === "invalid_union" ? issue.errors.toSorted((a, b) => a.length - b.length)[0]?.[0] : undefined;
  const { path, message } = closest ?? issue;
  return path.length === 0 ? message : `params.${path.join(".")}: ${message}`;
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
