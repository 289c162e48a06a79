import { useId, useState } from "react";
import { Icon } from "../icons.tsx";
import { Markdown } from "../markdown.tsx";
import type { ToolCall } from "../turns.ts";

export type Activity = "running" | "waiting" | "idle";

const words = {
  running: "running",
  waiting: "waits for you",
  done: "done",
  failed: "failed",
  unfinished: "not finished",
} as const;
export type ToolStatus = keyof typeof words;

export function toolStatus(call: ToolCall, activity: Activity): ToolStatus {
  if (call.result) return call.result.failed ? "failed" : "done";
  if (activity === "idle") return "unfinished";
  return activity;
}

export function StatusDot({ status }: { status: ToolStatus }) {
  return (
    <span className={`status ${status}`}>
      <span className="dot" aria-hidden="true" />
      {words[status]}
    </span>
  );
}

export function ToolCallCard({ call, activity }: { call: ToolCall; activity: Activity }) {
  const [open, setOpen] = useState(false);
  const body = useId();
  const status = toolStatus(call, activity);
  return (
    <div className={`part tool ${status}`}>
      <button
        type="button"
        className="tool-head"
        aria-expanded={open}
        aria-controls={body}
        onClick={() => setOpen(!open)}
      >
        <Icon name="wrench" />
        <span className="tool-name">{call.name}</span>
        <span className="tool-args">{oneLine(call.args)}</span>
        <StatusDot status={status} />
        <Icon name="chevron" />
      </button>
      <div id={body} className="tool-body" hidden={!open}>
        <h4>Arguments</h4>
        <pre>{typeof call.args === "string" ? call.args : JSON.stringify(call.args, null, 2)}</pre>
        {call.result && (
          <>
            <h4>Result</h4>
            <Markdown text={call.result.text} />
          </>
        )}
      </div>
    </div>
  );
}

function oneLine(args: ToolCall["args"]): string {
  if (typeof args === "string") return args;
  return Object.values(args)
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
    .join(" · ");
}
