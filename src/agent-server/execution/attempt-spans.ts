import { toWire } from "../checkpoints/message-wire.ts";
import type { TracedSpan } from "../graphs/graph-runtime.ts";
import { attemptName, attemptSpanId, attemptTag, lostAttemptError } from "../graphs/resumed-attempt.ts";
import type { ClaimedRun, RunOutcome } from "../runs/run.ts";

/** What a continuing attempt adds to the trace of its run: the end of the attempt before it, and itself. */
export function resumedSpans(run: ClaimedRun, now: Date): TracedSpan[] {
  const before = run.attempt - 1;
  // An attempt that began later than the first announced itself then; the earlier start stands.
  const lostStart = before === 1 ? firstStart(run) : now;
  return [
    {
      ...attemptSpan(run, before, lostStart),
      end_time: micros(now),
      error: lostAttemptError(before),
    },
    attemptSpan(run, run.attempt, now),
  ];
}

/** The end of an attempt that went on with a run. */
export function endedAttemptSpan(run: ClaimedRun, began: Date, { error }: RunOutcome, now: Date): TracedSpan {
  const { id, trace_id, parent_run_id, dotted_order } = attemptSpan(run, run.attempt, began);
  return {
    ...{ id, trace_id, parent_run_id, dotted_order, end_time: micros(now), outputs: {} },
    ...(error && { error: error.message }),
  };
}

/**
 * The spans that end the trace of a run whose attempts were all lost; no attempt is left to end it. What earlier
 * attempts sent stays, and these add the end.
 */
export function exhaustedSpans(run: ClaimedRun, { error }: RunOutcome, now: Date): TracedSpan[] {
  const ended = { end_time: micros(now), error: error?.message ?? "" };
  return [
    {
      id: run.run_id,
      trace_id: run.run_id,
      dotted_order: rootOrder(run),
      name: run.graph_id,
      run_type: "chain",
      start_time: micros(firstStart(run)),
      inputs: toWire(inputsOf(run)),
      extra: { metadata: { ...run.metadata, thread_id: run.thread_id, run_attempt: run.attempt } },
      ...ended,
    },
    { ...attemptSpan(run, run.attempt, run.updated_at), ...ended },
  ];
}

function attemptSpan(run: ClaimedRun, number: number, start: Date): TracedSpan {
  const id = attemptSpanId(run.run_id, number);
  return {
    id,
    trace_id: run.run_id,
    parent_run_id: run.run_id,
    dotted_order: `${rootOrder(run)}.${stamp(start)}${id}`,
    name: attemptName(number),
    run_type: "chain",
    start_time: micros(start),
    inputs: {},
    tags: [attemptTag],
    extra: { metadata: { run_attempt: number } },
  };
}

function firstStart(run: ClaimedRun): Date {
  return run.started_at ?? run.created_at;
}

function rootOrder(run: ClaimedRun): string {
  return `${stamp(firstStart(run))}${run.run_id}`;
}

function inputsOf({ kwargs }: ClaimedRun): unknown {
  const given = kwargs.command ?? kwargs.input ?? {};
  return typeof given === "object" && !Array.isArray(given) ? given : { input: given };
}

function micros(at: Date): string {
  return `${at.toISOString().slice(0, -1)}000Z`;
}

function stamp(at: Date): string {
  return micros(at).replace(/[-:.]/g, "");
}
