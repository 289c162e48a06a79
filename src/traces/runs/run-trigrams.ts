import type { MergedRun } from "../ingest/merge-run.ts";
import { trigramsOf } from "./trigrams.ts";

/** Of the texts a search looks through, as far as this write holds them. */
export function runTrigrams({ name, error, payloads }: MergedRun): Buffer | null {
  return trigramsOf([
    Buffer.from(name),
    error === null ? null : Buffer.from(error),
    payloads.inputs ?? null,
    payloads.outputs ?? null,
  ]);
}
