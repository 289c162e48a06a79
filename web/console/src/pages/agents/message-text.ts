import type { ChatMessage } from "../../ui/chat-message.ts";

/** The words of a message, without its other blocks. */
export function textOf({ content }: ChatMessage): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((block: unknown) =>
      typeof block === "string" ? block : ((block as { text?: string } | null)?.text ?? ""),
    )
    .join("");
}
