import { type AnyStream, type SubagentDiscoverySnapshot, useMessages } from "@langchain/react";
import { type ReactNode, useId, useState } from "react";
import { Icon } from "../icons.tsx";
import { Markdown } from "../markdown.tsx";
import { type Part, type ToolCall, toTurns } from "../turns.ts";
import { type Activity, StatusDot, toolStatus } from "./tool-call.tsx";

export type SubagentCardProps = {
  call: ToolCall;
  activity: Activity;
  stream: AnyStream | undefined;
  renderParts(parts: Part[], activity: Activity): ReactNode;
};

/** A subagent works in a namespace of its own; its card listens there, and only while it is open. */
export function SubagentCard(props: SubagentCardProps) {
  const { call, activity, stream } = props;
  const status = toolStatus(call, activity);
  const [chosen, setChosen] = useState<boolean>();
  const open = chosen ?? status === "running";
  const body = useId();
  const subagent = stream?.subagents.get(call.id);
  const { subagent_type: name = "subagent", description = "" } =
    typeof call.args === "string" ? {} : (call.args as { subagent_type?: string; description?: string });
  return (
    <section className={`part subagent ${status}`} aria-label={`Subagent ${name}`}>
      <button
        type="button"
        className="subagent-head"
        aria-expanded={open}
        aria-controls={body}
        onClick={() => setChosen(!open)}
      >
        <Icon name="branch" />
        <span className="subagent-title">
          <strong>{name}</strong>
          <span>{description}</span>
        </span>
        <StatusDot status={status} />
        <Icon name="chevron" />
      </button>
      <div id={body} className="subagent-body" hidden={!open}>
        {open && stream && subagent ? (
          <LiveSubagent {...props} stream={stream} subagent={subagent} />
        ) : (
          call.result && <Markdown text={call.result.text} />
        )}
      </div>
    </section>
  );
}

function LiveSubagent(props: SubagentCardProps & { stream: AnyStream; subagent: SubagentDiscoverySnapshot }) {
  const { stream, subagent, call, activity, renderParts } = props;
  const messages = useMessages(stream, subagent);
  const parts: Part[] = toTurns(messages).flatMap((turn) => (turn.kind === "assistant" ? turn.parts : []));
  if (parts.length > 0) return renderParts(parts, call.result ? "idle" : activity);
  // Its events may be no longer in the server's memory; what it came back with is in the thread.
  return call.result ? <Markdown text={call.result.text} /> : <p className="muted pulse">Getting to work…</p>;
}
