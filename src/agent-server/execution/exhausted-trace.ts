import { traceTime } from "../../platform/trace-time.ts";
import { toWire } from "../checkpoints/message-wire.ts";
import type { TracedSpan } from "../graphs/graph-runtime.ts";
import { attemptName, attemptSpanId, attemptTag } from "../graphs/resumed-attempt.ts";
import type { ClaimedRun } from "../runs/run.ts";
import type { RunResult } from "../runs/run-end.ts";

/**
 * How the trace of a run ends whose attempts were all lost: nobody else would end it. What earlier attempts announced
 * stands; these fill in the end.
 */
export function exhaustedSpans(run: ClaimedRun, { outcome }: RunResult, now: Date): TracedSpan[] {
  const start = traceTime(run.started_at ?? run.created_at);
  const rootOrder = `${start.stamp}${run.run_id}`;
  const end_time = traceTime(now).iso;
  const error = outcome.error?.message ?? "";
  const attemptId = attemptSpanId(run.run_id, run.attempt);
  const attemptStart = traceTime(run.updated_at);
  return [
    {
      id: run.run_id,
      trace_id: run.run_id,
      dotted_order: rootOrder,
      name: run.graph_id,
      run_type: "chain",
      start_time: start.iso,
      end_time,
      inputs: toWire(inputsOf(run)),
      error,
      extra: { metadata: { ...run.metadata, thread_id: run.thread_id, run_attempt: run.attempt } },
    },
    {
      id: attemptId,
      trace_id: run.run_id,
      parent_run_id: run.run_id,
      dotted_order: `${rootOrder}.${attemptStart.stamp}${attemptId}`,
      name: attemptName(run.attempt),
      run_type: "chain",
      start_time: attemptStart.iso,
      end_time,
      inputs: {},
      error,
      tags: [attemptTag],
      extra: { metadata: { run_attempt: run.attempt } },
    },
  ];
}

function inputsOf({ kwargs }: ClaimedRun): unknown {
  const given = kwargs.command ?? kwargs.input ?? {};
  return typeof given === "object" && !Array.isArray(given) ? given : { input: given };
}
