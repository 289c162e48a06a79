import { type PayloadField, payloadFields } from "../../../runs/run-change.ts";
import type { MergedRun, StoredRun } from "../../../runs/stored-run.ts";
import { passesOn, type Spender } from "../../../usage/usage-rollup.ts";
import { isNothing, readSum, totalsOf, type UsageSum } from "../../../usage/usage-sum.ts";
import { readUsageVector, usageTexts } from "../../../usage/usage-vector.ts";
import { jsonbSpelling } from "./jsonb-spelling.ts";

/** The columns of `trace_runs` that every row of a run has, as they are read back and written again. */
export const storedColumns = [
  ...(["workspace_id", "project_id", "start_time", "id", "trace_id", "parent_run_ids", "is_root"] as const),
  ...(["reference_example", "name", "run_type", "status", "ended", "first_token", "dotted_order"] as const),
  ...(["trace_tier", "thread", "tags", "metadata", "terms", "failure", "execution_order", "posted"] as const),
  ...(["patched", "usage", "below", "received_at", "is_gone", "present"] as const),
];

export type StoredRow = {
  workspace_id: string;
  project_id: string;
  start_time: string;
  id: string;
  trace_id: string;
  parent_run_ids: string[];
  is_root: boolean;
  reference_example: string[];
  name: string;
  run_type: string;
  status: string;
  ended: string[];
  first_token: string[];
  dotted_order: string;
  trace_tier: string;
  thread: string[];
  tags: string[];
  metadata: string;
  terms: number[];
  /** One text, which is empty, where the run has an error. */
  failure: string[];
  execution_order: number;
  posted: boolean;
  patched: boolean;
  usage: (string | null)[];
  below: string[];
  received_at: string;
  is_gone: boolean;
  present: number;
};

/**
 * What is written: totals follow from what the run spent and what came from below; payloads and the text of an error stand where they
 * changed.
 */
export type WrittenRow = StoredRow & {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  costs: (string | null)[];
  error_text?: string | undefined;
} & Partial<Record<PayloadField, Buffer>>;

/** A time as ClickHouse writes it: UTC, without saying so. */
export const columnTime = (time: string) => time.replace("T", " ").replace("Z", "");
export const wireTime = (time: string) => `${time.replace(" ", "T")}Z`;

const some = <Value>(value: Value | null): Value[] => (value === null ? [] : [value]);
const times = (time: string | null) => some(time).map(columnTime);

/** A run after its changes. `stored` is the row it had, if any. */
export function rowOf(run: MergedRun, stored: StoredRow | undefined, receivedAt: string): WrittenRow {
  let present = stored?.present ?? 0;
  const payloads: Partial<Record<PayloadField, Buffer>> = {};
  for (const [bit, field] of payloadFields.entries()) {
    const content = run.payloads[field];
    if (content === undefined) continue;
    present |= 1 << bit;
    payloads[field] = content;
  }
  const row = {
    ...{ workspace_id: run.workspace_id, project_id: run.project_id, start_time: columnTime(run.start_time) },
    ...{ id: run.id, trace_id: run.trace_id, parent_run_ids: run.parent_run_ids, is_root: run.is_root },
    ...{ reference_example: some(run.reference_example_id), name: run.name, run_type: run.run_type },
    ...{ status: run.status, ended: times(run.end_time), first_token: times(run.first_token_time) },
    ...{ dotted_order: run.dotted_order, trace_tier: run.trace_tier, thread: some(run.thread_id) },
    ...{
      tags: run.tags,
      metadata: jsonbSpelling(run.metadata),
      terms: run.terms,
      failure: run.error === null ? [] : [""],
    },
    ...{ execution_order: run.execution_order, posted: run.posted, patched: run.patched },
    ...{ usage: run.usage === null ? [] : usageTexts(run.usage), below: stored?.below ?? [] },
    ...{ received_at: stored?.received_at ?? columnTime(receivedAt), is_gone: false, present },
  };
  const error_text = errorText(run.sentError, stored);
  return { ...withBelow(row, run.below ?? readSum(row.below)), ...payloads, error_text };
}

/** Of an error that was taken back it is empty, so that it is neither found nor kept. */
function errorText(sent: string | null | undefined, stored: StoredRow | undefined): string | undefined {
  if (sent !== null) return sent;
  return stored && stored.failure.length > 0 ? "" : undefined;
}

/** The row with what came from below, and the totals that follow. */
export function withBelow(row: StoredRow, below: UsageSum): WrittenRow {
  const total = totalsOf(passesOn({ ...spenderOf(row), below }));
  return {
    ...row,
    below: isNothing(below) ? [] : (usageTexts(below) as string[]),
    prompt_tokens: total[0],
    completion_tokens: total[1],
    total_tokens: total[2],
    costs: usageTexts(total.slice(3, 6)),
  };
}

/** Where the run stood before: it does not count there any more. */
export function goneRow(row: StoredRow): WrittenRow {
  return { ...withBelow(row, readSum(row.below)), is_gone: true };
}

export type SpendingRow = Pick<
  StoredRow,
  "id" | "workspace_id" | "parent_run_ids" | "run_type" | "usage" | "below"
>;

export function spenderOf(row: SpendingRow): Spender {
  return {
    ...{ id: row.id, workspaceId: row.workspace_id },
    ...{ parentId: row.parent_run_ids.at(-1) ?? null, runType: row.run_type },
    usage: row.usage.length === 0 ? null : readUsageVector(row.usage),
    below: readSum(row.below.length === 0 ? null : row.below),
  };
}

/** As the rules of merging know it: of an error, that there is one. */
export function storedRunOf(row: StoredRow, extra: string | null): StoredRun {
  return {
    ...{ id: row.id, workspace_id: row.workspace_id, project_id: row.project_id, trace_id: row.trace_id },
    ...{ parent_run_id: row.parent_run_ids.at(-1) ?? null, parent_run_ids: row.parent_run_ids },
    ...{ reference_example_id: row.reference_example[0] ?? null, name: row.name, run_type: row.run_type },
    ...{ start_time: wireTime(row.start_time), end_time: row.ended.map(wireTime)[0] ?? null },
    ...{ dotted_order: row.dotted_order, trace_tier: row.trace_tier, thread_id: row.thread[0] ?? null },
    ...{ tags: row.tags, metadata: row.metadata, terms: row.terms, usage: spenderOf(row).usage },
    ...{ first_token_time: row.first_token.map(wireTime)[0] ?? null, execution_order: row.execution_order },
    ...{ posted: row.posted, patched: row.patched, error: row.failure[0] ?? null, extra },
    present: payloadFields.filter((_, bit) => (row.present & (1 << bit)) !== 0),
  };
}

/** Rows of one partition are stored all or none. */
export const monthOf = (row: Pick<StoredRow, "start_time">) => row.start_time.slice(0, 7);
