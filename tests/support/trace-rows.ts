import { randomUUID } from "node:crypto";
import type { Sql } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { pairsOf, pairTerm, tagTerm } from "../../src/traces/runs/term.ts";

/** A run as a test thinks of it; `insertRuns` writes the row ingestion would have written. */
export type SampleRun = {
  id: string;
  workspace_id: string;
  session_id: string;
  trace_id: string;
  parent_run_id: string | null;
  parent_run_ids: string[];
  reference_example_id: string | null;
  name: string;
  run_type: string;
  start_time: string;
  end_time: string | null;
  status: string;
  error: string | null;
  thread_id: string | null;
  tags: string[];
  metadata: Record<string, unknown>;
  inputs: Record<string, unknown> | null;
  outputs: Record<string, unknown> | null;
  total_tokens: number;
  prompt_tokens: number;
  completion_tokens: number;
  total_cost: number | null;
  first_token_time: string | null;
  dotted_order: string;
};

export function sampleRun(
  run: Partial<SampleRun> & Pick<SampleRun, "workspace_id" | "session_id">,
): SampleRun {
  const id = run.id ?? randomUUID();
  const start = run.start_time ?? "2026-01-01T00:00:00.000000Z";
  const stamp = start.replace(/[-:.]/g, "");
  return {
    id,
    trace_id: run.parent_run_id ? run.parent_run_id : id,
    parent_run_id: null,
    parent_run_ids: run.parent_run_id ? [run.parent_run_id] : [],
    reference_example_id: null,
    name: "run",
    run_type: "chain",
    start_time: start,
    end_time: null,
    status: run.error ? "error" : run.end_time ? "success" : "pending",
    error: null,
    thread_id: null,
    tags: [],
    metadata: {},
    inputs: null,
    outputs: null,
    total_tokens: 0,
    prompt_tokens: 0,
    completion_tokens: 0,
    total_cost: null,
    first_token_time: null,
    dotted_order: `${stamp}${id}`,
    ...run,
  };
}

export function termsOf(run: Pick<SampleRun, "tags" | "metadata" | "inputs" | "outputs">): number[] {
  return [
    ...run.tags.map(tagTerm),
    ...pairsOf(run.metadata).map(([key, value]) => pairTerm("metadata", key, value)),
    ...pairsOf(run.inputs).map(([key, value]) => pairTerm("inputs", key, value)),
    ...pairsOf(run.outputs).map(([key, value]) => pairTerm("outputs", key, value)),
  ];
}

export async function insertRuns(sql: Sql, runs: readonly SampleRun[]): Promise<void> {
  for (const run of runs) {
    const terms = termsOf(run);
    const text = (payload: unknown) => (payload === null ? null : JSON.stringify(payload));
    await raw`insert into trace_runs (id, workspace_id, project_id, trace_id, parent_run_id, parent_run_ids, is_root,
        reference_example_id, name, run_type, start_time, end_time, status, dotted_order, thread_id, tags, metadata,
        terms, total_tokens, prompt_tokens, completion_tokens, total_cost, first_token_time, inputs, outputs, error,
        extra)
      values (${run.id}, ${run.workspace_id}, ${run.session_id}, ${run.trace_id}, ${run.parent_run_id},
        ${run.parent_run_ids}::uuid[], ${run.parent_run_id === null}, ${run.reference_example_id}, ${run.name},
        ${run.run_type}, ${run.start_time}, ${run.end_time}, ${run.status}, ${run.dotted_order}, ${run.thread_id},
        ${run.tags}::text[], ${text(run.metadata)}::jsonb, ${terms}::int[], ${run.total_tokens},
        ${run.prompt_tokens}, ${run.completion_tokens}, ${run.total_cost}, ${run.first_token_time},
        ${text(run.inputs)}, ${text(run.outputs)}, ${run.error}, ${text({ metadata: run.metadata })})`.execute(
      sql,
    );
  }
}

export type SampleFeedback = {
  workspace_id: string;
  run_id: string;
  key: string;
  score?: number | null;
  /** As sent; kept as JSON text. */
  value?: unknown;
  comment?: string | null;
  source?: string;
};

export async function insertFeedback(sql: Sql, feedback: readonly SampleFeedback[]): Promise<void> {
  for (const each of feedback) {
    await raw`insert into trace_feedback (id, workspace_id, run_id, key, score, value, comment, feedback_source)
      values (${randomUUID()}, ${each.workspace_id}, ${each.run_id}, ${each.key}, ${each.score ?? null},
        ${each.value === undefined ? null : JSON.stringify(each.value)}, ${each.comment ?? null},
        ${JSON.stringify({ type: each.source ?? "api" })}::jsonb)`.execute(sql);
  }
}

/** A project row, and the workspace it belongs to when that is not there yet. */
export async function insertProject(
  sql: Sql,
  project: { id: string; workspace_id: string; name: string; reference_dataset_id?: string },
): Promise<void> {
  const organizationId = randomUUID();
  const { rows } = await raw`select 1 from workspaces where id = ${project.workspace_id}`.execute(sql);
  if (rows.length === 0) {
    await raw`insert into organizations (id, name) values (${organizationId}, 'Test')`.execute(sql);
    await raw`insert into workspaces (id, organization_id, name)
      values (${project.workspace_id}, ${organizationId}, 'Test')`.execute(sql);
  }
  await raw`insert into trace_projects (id, workspace_id, name, reference_dataset_id)
    values (${project.id}, ${project.workspace_id}, ${project.name}, ${project.reference_dataset_id ?? null})`.execute(
    sql,
  );
}
