import { randomUUID } from "node:crypto";
import type { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import type { Judged } from "./filter-evaluator.ts";
import { termsOf } from "./trace-rows.ts";

/** The rows ingestion would have written for these runs and their feedback. */
export async function insertJudged(clickHouse: ClickHouse, runs: readonly Judged[]): Promise<void> {
  const some = <T>(value: T | null) => (value === null ? [] : [value]);
  const text = (payload: unknown) => (payload === null ? null : JSON.stringify(payload));
  const rows = runs.map(({ feedback: _, session_id, error, end_time, total_cost, ...run }) => ({
    ...{ workspace_id: run.workspace_id, project_id: session_id, start_time: run.start_time, id: run.id },
    ...{ trace_id: run.trace_id, parent_run_ids: run.parent_run_ids, is_root: run.parent_run_id === null },
    ...{ reference_example: some(run.reference_example_id), name: run.name, run_type: run.run_type },
    ...{ status: run.status, ended: some(end_time), first_token: some(run.first_token_time) },
    ...{
      dotted_order: run.dotted_order,
      execution_order: 1,
      trace_tier: "longlived",
      thread: some(run.thread_id),
      tags: run.tags,
      terms: termsOf(run),
    },
    ...{
      metadata: text(run.metadata),
      failure: some(error),
      inputs: text(run.inputs),
      outputs: text(run.outputs),
    },
    ...{ total_tokens: run.total_tokens, prompt_tokens: run.prompt_tokens },
    ...{ completion_tokens: run.completion_tokens, costs: [null, null, total_cost] },
    ...{
      usage: [run.prompt_tokens, run.completion_tokens, run.total_tokens, null, null, total_cost].map(
        (each) => (each === null ? null : String(each)),
      ),
    },
  }));
  await clickHouse.insert("trace_runs", rows);
  const feedback = runs.flatMap((run) => run.feedback);
  await clickHouse.insert(
    "trace_feedback",
    feedback.map(({ workspace_id, run_id, key, score, value, comment, source }) => ({
      ...{ workspace_id, run_id, id: randomUUID(), key, score: score ?? null, comment: comment ?? null },
      ...{ value_text: value === undefined ? null : String(value), source: source ?? "api" },
      modified_at: "2026-01-01T00:00:00Z",
    })),
  );
}
