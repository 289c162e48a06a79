import { type FormField, readForm } from "./form/schema-fields.ts";
import { readJson } from "./read-json.ts";

/** How input is written: as a message, as a form of the graph's fields, or as any JSON. */
export type InputMode = "message" | "form" | "json";

/** The ways a graph's input can be written. Without a schema it is a message or JSON. */
export function inputModes(fields: readonly FormField[]): InputMode[] {
  const takesMessages = fields.length === 0 || fields.some(({ kind }) => kind === "message");
  const hasMore = fields.some(({ kind }) => kind !== "message");
  return [...(takesMessages ? (["message"] as const) : []), ...(hasMore ? (["form"] as const) : []), "json"];
}

export type Written = { text: string; json: string; form: Readonly<Record<string, string>> };
export const nothingWritten: Written = { text: "", json: "", form: {} };

/** The input to send; undefined as long as it cannot be sent, with what is wrong where one must be told. */
export function inputOf(
  mode: InputMode,
  written: Written,
  fields: readonly FormField[],
): { input: unknown; problems: Record<string, string> } {
  if (mode === "message") {
    const content = written.text.trim();
    return { input: content === "" ? undefined : { messages: [{ role: "user", content }] }, problems: {} };
  }
  if (mode === "json") {
    return { input: written.json.trim() === "" ? undefined : readJson(written.json), problems: {} };
  }
  const { values, problems } = readForm(fields, written.form);
  return { input: Object.keys(problems).length > 0 ? undefined : values, problems };
}
