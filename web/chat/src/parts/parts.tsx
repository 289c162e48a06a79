import type { AnyStream } from "@langchain/react";
import { Markdown } from "../markdown.tsx";
import type { Part } from "../turns.ts";
import { Reasoning } from "./reasoning.tsx";
import { SubagentCard } from "./subagent-card.tsx";
import { type Activity, ToolCallCard } from "./tool-call.tsx";

/** The steps of one answer, in order. Without a stream (in the history) subagents show what they came back with. */
export function Parts({
  parts,
  activity,
  stream,
}: {
  parts: Part[];
  activity: Activity;
  stream: AnyStream | undefined;
}) {
  return parts.map((part, at) => {
    const isLast = at === parts.length - 1;
    const live = isLast && activity === "running";
    if (part.kind === "reasoning") return <Reasoning key={part.key} text={part.text} live={live} />;
    if (part.kind === "text") {
      return (
        <div key={part.key} className={`part text${live ? " live" : ""}`}>
          <Markdown text={part.text} />
        </div>
      );
    }
    return part.call.name === "task" ? (
      <SubagentCard
        key={part.key}
        call={part.call}
        activity={activity}
        stream={stream}
        renderParts={(inner, state) => <Parts parts={inner} activity={state} stream={undefined} />}
      />
    ) : (
      <ToolCallCard key={part.key} call={part.call} activity={activity} />
    );
  });
}
