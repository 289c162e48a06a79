import type { Database } from "../../platform/db/database.ts";
import type { MergedRun, StoredRun } from "../ingest/merge-run.ts";
import { addUsage, type UsageVector } from "../ingest/usage-vector.ts";
import { arrayLiteral, textArrayLiteral } from "./array-literal.ts";
import { type BlobColumn, blobColumns, simpleColumns, textColumns, usageNames } from "./run-columns.ts";
import { encodeRuns, runCopyTarget } from "./run-copy.ts";
import { findRuns, inputColumnNames, writeRuns } from "./run-statements.ts";
import { searchedTexts } from "./searched-texts.ts";
import { trigramsOf } from "./trigrams.ts";

export type RunKey = { id: string; workspaceId: string };
/** `claim`: when the run begins, if it is new. */
export type RunSearch = RunKey & { claim?: string };

export type FoundRun = {
  id: string;
  workspace_id: string;
  /** Where the id was stored before this search; there may be no run any more, or not yet. */
  stands_at: string | null;
  run: StoredRun | null;
  /** JSON, oldest first. */
  patches: string[] | null;
  last_seq: number | null;
  has_usage: boolean;
};

export async function findStoredRuns(
  database: Database,
  searches: readonly RunSearch[],
): Promise<FoundRun[]> {
  const rows = await database.query<
    Omit<FoundRun, "run"> & { run: Omit<StoredRun, "id" | "workspace_id"> | null }
  >(findRuns, [
    arrayLiteral(searches.map((each) => each.id)),
    arrayLiteral(searches.map((each) => each.workspaceId)),
    arrayLiteral(searches.map((each) => each.claim ?? null)),
  ]);
  return rows.map((row) => ({
    ...row,
    run: row.run && { ...row.run, id: row.id, workspace_id: row.workspace_id },
  }));
}

/**
 * A run that another process has just made must fail the flush, which then reads it: COPY knows no conflict.
 * `buffers` are those of earlier calls: megabytes that are made anew for each flush keep the collector busy.
 */
export async function insertNewRuns(
  database: Database,
  runs: readonly MergedRun[],
  buffers: Buffer[] = [],
): Promise<void> {
  const { data, buffer } = encodeRuns(runs, buffers.pop());
  await database.copyIn(runCopyTarget, data);
  // Only when all was sent: a failed COPY may leave the socket with the bytes.
  if (buffer.byteLength <= maxKeptBytes) buffers.push(buffer);
}

/** Of the usual flush; larger buffers are not kept for later ones. */
const maxKeptBytes = 16_000_000;

export type AncestorUsage = RunKey & { usage: UsageVector };

export type RunWrites = {
  runs: readonly MergedRun[];
  ancestors: readonly AncestorUsage[];
  /** Patches to keep until their run comes. */
  park: readonly (RunKey & { patch: string })[];
  /** Kept patches that `runs` now contain. */
  unpark: readonly (RunKey & { lastSeq: number })[];
  /** Runs that begin at another time than their id was stored under. */
  moved: readonly (RunKey & { startTime: string })[];
};

export async function writeRunChanges(database: Database, writes: RunWrites): Promise<void> {
  const { runs, ancestors, park, unpark, moved } = writes;
  await database.query(writeRuns, [
    ...runValues(runs),
    arrayLiteral(unpark.map((each) => each.id)),
    arrayLiteral(unpark.map((each) => each.workspaceId)),
    arrayLiteral(unpark.map((each) => each.lastSeq)),
    arrayLiteral(park.map((each) => each.id)),
    arrayLiteral(park.map((each) => each.workspaceId)),
    textArrayLiteral(park.map((each) => each.patch)),
    arrayLiteral(moved.map((each) => each.id)),
    arrayLiteral(moved.map((each) => each.workspaceId)),
    arrayLiteral(moved.map((each) => each.startTime)),
    arrayLiteral(ancestors.map((each) => each.id)),
    arrayLiteral(ancestors.map((each) => each.workspaceId)),
    ...usageValues(ancestors.map((each) => each.usage)),
  ]);
}

function runValues(runs: readonly MergedRun[]): unknown[] {
  const columns: Record<string, string> = {};
  for (const [name] of simpleColumns) columns[name] = arrayLiteral(runs.map((run) => run[name]));
  for (const name of textColumns) columns[name] = textArrayLiteral(runs.map((run) => run[name]));
  columns.parent_run_ids = textArrayLiteral(runs.map((run) => arrayLiteral(run.parent_run_ids)));
  columns.tags = textArrayLiteral(runs.map((run) => textArrayLiteral(run.tags)));
  columns.terms = textArrayLiteral(runs.map((run) => arrayLiteral(run.terms)));
  columns.usage = textArrayLiteral(runs.map((run) => run.usage && arrayLiteral(run.usage)));
  const usage = usageValues(runs.map((run) => addUsage(run.ownDelta, run.below)));
  for (const [index, name] of usageNames.entries()) columns[name] = usage[index]!;
  columns.stored_start = arrayLiteral(runs.map((run) => run.storedStart));
  const blob = packBlob(runs, columns);
  return [...inputColumnNames.map((name) => columns[name]), blob];
}

function usageValues(vectors: readonly UsageVector[]): string[] {
  return usageNames.map((_, index) => arrayLiteral(vectors.map((vector) => vector[index] ?? null)));
}

/** All payloads of a flush end to end, and where each of them is, counted from one as SQL does. */
function packBlob(runs: readonly MergedRun[], columns: Record<string, string>): Buffer {
  const chunks: Buffer[] = [];
  let offset = 1;
  for (const name of blobColumns) {
    const starts: number[] = [];
    const sizes: number[] = [];
    for (const run of runs) {
      const content = blobOf(run, name);
      starts.push(offset);
      sizes.push(content === null ? -1 : content.byteLength);
      if (content === null) continue;
      chunks.push(content);
      offset += content.byteLength;
    }
    columns[`${name}_at`] = arrayLiteral(starts);
    columns[`${name}_size`] = arrayLiteral(sizes);
  }
  return Buffer.concat(chunks);
}

function blobOf(run: MergedRun, name: BlobColumn): Buffer | null {
  if (name === "metadata") return Buffer.from(run.metadata);
  if (name === "error") return run.error === null ? null : Buffer.from(run.error);
  if (name === "trigrams") return trigramsOf(searchedTexts(run));
  return run.payloads[name] ?? null;
}
