import { CopyEncoder } from "../../platform/db/copy-encoder.ts";
import type { MergedRun } from "../ingest/merge-run.ts";
import { addUsage } from "../ingest/usage-vector.ts";
import { searchedTexts } from "./searched-texts.ts";
import { addTrigrams, canTell, signatureBytes } from "./trigrams.ts";

const columns = [
  "id",
  "workspace_id",
  "project_id",
  "trace_id",
  "parent_run_id",
  "parent_run_ids",
  "is_root",
  "reference_example_id",
  "name",
  "run_type",
  "start_time",
  "end_time",
  "status",
  "dotted_order",
  "trace_tier",
  "thread_id",
  "tags",
  "metadata",
  "terms",
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "prompt_cost",
  "completion_cost",
  "total_cost",
  "first_token_time",
  "usage",
  "execution_order",
  "posted",
  "patched",
  "inputs",
  "outputs",
  "error",
  "extra",
  "events",
  "serialized",
  "trigrams",
];

/** Where `encodeRuns` is copied to. */
export const runCopyTarget = `trace_runs (${columns.join(", ")})`;

/** New runs as binary COPY, in the order of `columns`. */
export function encodeRuns(runs: readonly MergedRun[], reuse?: Buffer): { data: Buffer; buffer: Buffer } {
  let bytes = 0;
  for (const run of runs) bytes += 1_600 + payloadBytes(run);
  const encoder = new CopyEncoder(bytes, reuse);
  for (const run of runs) encodeRun(encoder, run);
  const data = encoder.finish();
  return { data, buffer: encoder.buffer };
}

function encodeRun(row: CopyEncoder, run: MergedRun): void {
  row.row(columns.length);
  row.uuid(run.id);
  row.uuid(run.workspace_id);
  row.uuid(run.project_id);
  row.uuid(run.trace_id);
  row.uuid(run.parent_run_id);
  row.uuidArray(run.parent_run_ids);
  row.boolean(run.is_root);
  row.uuid(run.reference_example_id);
  row.text(run.name);
  row.text(run.run_type);
  row.timestamp(run.start_time);
  row.timestamp(run.end_time);
  row.text(run.status);
  row.text(run.dotted_order);
  row.text(run.trace_tier);
  row.text(run.thread_id);
  row.textArray(run.tags);
  row.jsonb(run.metadata);
  row.int4Array(run.terms);
  const [promptTokens, completionTokens, totalTokens, ...costs] = addUsage(run.ownDelta, run.below);
  row.int8(promptTokens);
  row.int8(completionTokens);
  row.int8(totalTokens);
  for (const cost of costs) row.float8(cost);
  row.timestamp(run.first_token_time);
  row.float8Array(run.usage);
  row.int4(run.execution_order);
  row.boolean(run.posted);
  row.boolean(run.patched);
  row.bytes(run.payloads.inputs ?? null);
  row.bytes(run.payloads.outputs ?? null);
  row.text(run.error);
  row.bytes(run.payloads.extra ?? null);
  row.bytes(run.payloads.events ?? null);
  row.bytes(run.payloads.serialized ?? null);
  const texts = searchedTexts(run);
  if (canTell(texts)) row.bits(signatureBytes, (bits) => addTrigrams(bits, texts));
  else row.null();
}

function payloadBytes({ payloads, error }: MergedRun): number {
  let bytes = (error?.length ?? 0) * 3;
  for (const content of Object.values(payloads)) bytes += content.byteLength;
  return bytes;
}
