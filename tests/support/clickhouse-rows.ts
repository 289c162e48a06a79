import { randomUUID } from "node:crypto";
import type { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import type { Judged } from "./filter-evaluator.ts";
import { termsOf } from "./trace-rows.ts";

/**
 * The rows ingestion would have written for these runs and their feedback: each of them twice, first in an earlier state,
 * and some feedback that was removed. Nothing is merged, so that a reader who takes rows as they are finds the earlier ones.
 */
export async function insertJudged(clickHouse: ClickHouse, runs: readonly Judged[]): Promise<void> {
  for (const table of ["trace_runs", "trace_feedback"]) await clickHouse.run(`system stop merges ${table}`);
  await clickHouse.insert("trace_runs", runs.map(earlierRow));
  await clickHouse.insert("trace_runs", runs.map(rowOf));
  const feedback = runs.flatMap(feedbackRows);
  const earlier = {
    key: "earlier",
    score: 0.25,
    value_text: "earlier",
    comment: "earlier",
    source: "earlier",
  };
  const before = { ...earlier, copied_at: "2025-01-01T00:00:00Z", is_removed: false };
  await clickHouse.insert(
    "trace_feedback",
    feedback.map((row) => ({ ...row, ...before })),
  );
  await clickHouse.insert("trace_feedback", feedback);
}

/** What stays of runs that were moved: rows at another start, which count no more. */
export async function insertGone(
  clickHouse: ClickHouse,
  runs: readonly Judged[],
  start_time: string,
): Promise<void> {
  const there = runs.map((run) => ({ ...earlierRow(run), start_time, inputs: '{"gone":true}' }));
  await clickHouse.insert("trace_runs", there);
  await clickHouse.insert(
    "trace_runs",
    there.map((row) => ({ ...row, is_gone: true })),
  );
}

const some = <T>(value: T | null) => (value === null ? [] : [value]);
const text = (payload: unknown) => (payload === null ? null : JSON.stringify(payload));

function rowOf({ feedback: _, session_id, error, end_time, total_cost, ...run }: Judged) {
  return {
    ...{ workspace_id: run.workspace_id, project_id: session_id, start_time: run.start_time, id: run.id },
    ...{ trace_id: run.trace_id, parent_run_ids: run.parent_run_ids, is_root: run.parent_run_id === null },
    ...{ reference_example: some(run.reference_example_id), name: run.name, run_type: run.run_type },
    ...{ status: run.status, ended: some(end_time), first_token: some(run.first_token_time) },
    ...{ dotted_order: run.dotted_order, execution_order: 1, trace_tier: "longlived" },
    ...{ thread: some(run.thread_id), tags: run.tags, terms: termsOf(run), metadata: text(run.metadata) },
    // It may take back an earlier one.
    ...{ failure: error === null ? [] : [""], error_text: error ?? "" },
    ...{ inputs: text(run.inputs), outputs: text(run.outputs) },
    ...{ total_tokens: run.total_tokens, prompt_tokens: run.prompt_tokens },
    ...{ completion_tokens: run.completion_tokens, costs: [null, null, total_cost] },
    usage: [run.prompt_tokens, run.completion_tokens, run.total_tokens, null, null, total_cost].map((each) =>
      each === null ? null : String(each),
    ),
  };
}

/** Other in everything that may change; a payload is never taken back. Its error stands where servers of before wrote it. */
function earlierRow(run: Judged) {
  const payload = { earlier: true };
  const { error_text, ...changed } = rowOf({
    ...{ ...run, name: "earlier", run_type: "earlier", status: "pending", error: "earlier", end_time: null },
    ...{ thread_id: "earlier", tags: ["earlier"], metadata: payload, reference_example_id: randomUUID() },
    ...{ total_tokens: 77, prompt_tokens: 7, completion_tokens: 70, total_cost: 7 },
    ...{ inputs: run.inputs && payload, outputs: run.outputs && payload },
  });
  return { ...changed, failure: [error_text], is_root: !changed.is_root };
}

function feedbackRows({ session_id, feedback }: Judged): object[] {
  return feedback.flatMap(({ workspace_id, run_id, key, score, value, comment, source }) => {
    const place = { workspace_id, run_id, project_id: session_id, copied_at: "2026-01-01T00:00:00Z" };
    const row = { ...place, id: randomUUID(), key, score: score ?? null, comment: comment ?? null };
    const text = {
      value_text: value === undefined ? null : String(value),
      is_text: typeof value === "string",
    };
    const given = { ...row, ...text, source: source ?? "api" };
    const removed = { key: "removed", score: 0.75, value_text: "removed", comment: null, is_removed: true };
    return [given, { ...given, id: randomUUID(), ...removed }];
  });
}
