import type { Thread } from "./agent-api.ts";
import { messagesOf } from "./live-messages.ts";
import { textOf } from "./message-text.ts";

const mostShown = 120;

/** The title that the chat or another client gave it, else the beginning of its first message; null where it has neither. */
export function titleOf({ metadata, values }: Pick<Thread, "metadata" | "values">): string | null {
  const { title } = metadata;
  if (typeof title === "string" && title !== "") return title;
  const first = messagesOf(values)?.find(({ type, role }) => type === "human" || role === "user");
  const text = (first && textOf(first).trim()) || null;
  return text !== null && text.length > mostShown ? `${text.slice(0, mostShown)}…` : text;
}
