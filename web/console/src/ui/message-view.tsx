import type { ReactNode } from "react";
import type { ChatMessage } from "./chat-message.ts";
import { JsonView } from "./json-view.tsx";
import { MarkdownText } from "./markdown-text.tsx";
import { mediaOf } from "./media.ts";
import { MediaView } from "./media-view.tsx";

const speakers: Readonly<Record<string, string>> = {
  human: "Person",
  user: "Person",
  ai: "Agent",
  assistant: "Agent",
  system: "System",
  tool: "Tool",
  function: "Tool",
};

/** One message: who, what, and its tool calls. Its words are Markdown; HTML in them stays text. */
export function MessageView({ message, actions }: { message: ChatMessage; actions?: ReactNode }) {
  const kind = (message.type ?? message.role ?? "").replace(/MessageChunk$|Message$/, "").toLowerCase();
  const calls = Array.isArray(message.tool_calls) ? (message.tool_calls as ToolCall[]) : [];
  return (
    <article className={`message ${kind}`}>
      <header>
        <b>{speakers[kind] ?? (kind || "Message")}</b>
        {message.name && <span className="muted"> {message.name}</span>}
        {message.status === "error" && <span className="badge bad">error</span>}
        {actions}
      </header>
      <Content content={message.content} />
      {calls.map((call, index) => (
        <div key={call.id ?? index} className="tool-call">
          <span className="tool-name">{call.name ?? call.function?.name ?? "tool"}</span>
          <JsonView label={`arguments of ${call.name ?? "the tool"}`} value={argumentsOf(call)} open={1} />
        </div>
      ))}
    </article>
  );
}

type ToolCall = {
  id?: string;
  name?: string;
  args?: unknown;
  function?: { name?: string; arguments?: unknown };
};

function argumentsOf(call: ToolCall): unknown {
  const given = call.args ?? call.function?.arguments;
  if (typeof given !== "string") return given ?? {};
  try {
    return JSON.parse(given);
  } catch {
    // Half a call of a stream that was cut: the text is all there is.
    return given;
  }
}

function Content({ content }: { content: unknown }) {
  if (content === null || content === undefined || content === "") return null;
  if (typeof content === "string") return <MarkdownText text={content} />;
  if (!Array.isArray(content)) return <JsonView label="content" value={content} open={1} />;
  return content.map((block: unknown, index) => <Block key={blockKey(block, index)} block={block} />);
}

function blockKey(block: unknown, index: number): string {
  const id = (block as { id?: unknown } | null)?.id;
  return typeof id === "string" ? id : String(index);
}

function Block({ block }: { block: unknown }) {
  if (typeof block === "string") return <MarkdownText text={block} />;
  const { type, text, reasoning, thinking } = (block ?? {}) as Record<string, unknown>;
  if (typeof text === "string" && (type === "text" || type === undefined))
    return <MarkdownText text={text} />;
  const thought = reasoning ?? thinking;
  if (typeof thought === "string") return <p className="message-text thought">{thought}</p>;
  const media = mediaOf(block);
  if (media) return <MediaView media={media} />;
  return <JsonView label="content block" value={block} open={1} />;
}
