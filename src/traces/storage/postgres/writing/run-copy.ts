import { CopyEncoder } from "../../../../platform/db/copy/copy-encoder.ts";
import { addTrigrams, canTell, signatureBytes } from "../../../../platform/db/trigrams.ts";
import type { MergedRun } from "../../../runs/stored-run.ts";
import { passedOn } from "../../../runs/usage-plan.ts";
import { isNothing, totalsOf } from "../../../usage/usage-sum.ts";
import type { UsageVector } from "../../../usage/usage-vector.ts";
import { type RunColumn, runColumns } from "./run-columns.ts";
import { searchedTexts } from "./searched-texts.ts";

/** Where `encodeRuns` is copied to. */
export const runCopyTarget = `trace_runs (${runColumns.join(", ")})`;

/** New runs as binary COPY, in the order of `runColumns`. */
export function encodeRuns(runs: readonly MergedRun[], reuse?: Buffer): { data: Buffer; buffer: Buffer } {
  let bytes = 0;
  for (const run of runs) bytes += 1_600 + payloadBytes(run);
  const encoder = new CopyEncoder(bytes, reuse);
  for (const run of runs) encodeRun(encoder, run);
  const data = encoder.finish();
  return { data, buffer: encoder.buffer };
}

type Encode = (row: CopyEncoder, run: MergedRun, total: UsageVector) => void;

const encoders: Record<RunColumn, Encode> = {
  id: (row, run) => row.uuid(run.id),
  workspace_id: (row, run) => row.uuid(run.workspace_id),
  project_id: (row, run) => row.uuid(run.project_id),
  trace_id: (row, run) => row.uuid(run.trace_id),
  parent_run_id: (row, run) => row.uuid(run.parent_run_id),
  parent_run_ids: (row, run) => row.uuidArray(run.parent_run_ids),
  is_root: (row, run) => row.boolean(run.is_root),
  reference_example_id: (row, run) => row.uuid(run.reference_example_id),
  name: (row, run) => row.text(run.name),
  run_type: (row, run) => row.text(run.run_type),
  start_time: (row, run) => row.timestamp(run.start_time),
  end_time: (row, run) => row.timestamp(run.end_time),
  status: (row, run) => row.text(run.status),
  dotted_order: (row, run) => row.text(run.dotted_order),
  trace_tier: (row, run) => row.text(run.trace_tier),
  thread_id: (row, run) => row.text(run.thread_id),
  tags: (row, run) => row.textArray(run.tags),
  metadata: (row, run) => row.jsonb(run.metadata),
  terms: (row, run) => row.int4Array(run.terms),
  prompt_tokens: (row, _run, total) => row.int8(total[0]),
  completion_tokens: (row, _run, total) => row.int8(total[1]),
  total_tokens: (row, _run, total) => row.int8(total[2]),
  prompt_cost: (row, _run, total) => row.numeric(total[3]),
  completion_cost: (row, _run, total) => row.numeric(total[4]),
  total_cost: (row, _run, total) => row.numeric(total[5]),
  first_token_time: (row, run) => row.timestamp(run.first_token_time),
  usage: (row, run) => row.numericArray(run.usage),
  below: (row, run) => row.numericArray(run.below === null || isNothing(run.below) ? null : run.below),
  execution_order: (row, run) => row.int4(run.execution_order),
  posted: (row, run) => row.boolean(run.posted),
  patched: (row, run) => row.boolean(run.patched),
  inputs: (row, run) => row.bytes(run.payloads.inputs ?? null),
  outputs: (row, run) => row.bytes(run.payloads.outputs ?? null),
  error: (row, run) => row.text(run.error),
  extra: (row, run) => row.bytes(run.payloads.extra ?? null),
  events: (row, run) => row.bytes(run.payloads.events ?? null),
  serialized: (row, run) => row.bytes(run.payloads.serialized ?? null),
  trigrams(row, run) {
    const texts = searchedTexts(run);
    if (canTell(texts)) row.bits(signatureBytes, (bits) => addTrigrams(bits, texts));
    else row.null();
  },
};

const inOrder = runColumns.map((name) => encoders[name]);

function encodeRun(row: CopyEncoder, run: MergedRun): void {
  const total = totalsOf(passedOn(run));
  row.row(inOrder.length);
  for (const encode of inOrder) encode(row, run, total);
}

function payloadBytes({ payloads, error }: MergedRun): number {
  let bytes = (error?.length ?? 0) * 3;
  for (const content of Object.values(payloads)) bytes += content.byteLength;
  return bytes;
}
