import type { Database, Sql } from "../../../../platform/db/database.ts";
import { runStatement } from "../../../../platform/db/run-statement.ts";
import { trigramsOf } from "../../../../platform/db/trigrams.ts";
import type { RunWrites } from "../../../runs/flush-plan.ts";
import type { FoundRun, MergedRun, RunSearch, StoredRun } from "../../../runs/stored-run.ts";
import { passedOn, type SpendingPlan } from "../../../runs/usage-plan.ts";
import { isNothing, totalsOf, type UsageSum } from "../../../usage/usage-sum.ts";
import { readUsageVector, type UsageVector, usageTexts } from "../../../usage/usage-vector.ts";
import { arrayLiteral, textArrayLiteral } from "./array-literal.ts";
import { type BlobColumn, blobColumns, simpleColumns, textColumns, usageNames } from "./run-columns.ts";
import { encodeRuns, runCopyTarget } from "./run-copy.ts";
import { findRuns, inputColumnNames, writeRuns } from "./run-statements.ts";
import { searchedTexts } from "./searched-texts.ts";

export async function findStoredRuns(
  database: Database,
  searches: readonly RunSearch[],
): Promise<FoundRun[]> {
  type StoredColumns = Omit<StoredRun, "id" | "workspace_id" | "usage"> & { usage: string[] | null };
  const rows = await database.query<Omit<FoundRun, "run"> & { run: StoredColumns | null }>(findRuns, [
    arrayLiteral(searches.map((each) => each.id)),
    arrayLiteral(searches.map((each) => each.workspaceId)),
    arrayLiteral(searches.map((each) => each.claim ?? null)),
  ]);
  return rows.map((row) => ({
    ...row,
    run: row.run && {
      ...row.run,
      id: row.id,
      workspace_id: row.workspace_id,
      usage: row.run.usage && readUsageVector(row.run.usage),
    },
  }));
}

/**
 * A run that another process has just inserted must fail the flush, which then reads it: COPY has no conflict handling.
 * `buffers` are those of earlier calls: allocating megabytes for each flush would keep the garbage collector busy.
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

export async function writeRunChanges(sql: Sql, writes: RunWrites, spending: SpendingPlan): Promise<void> {
  const { park, unpark, moved } = writes;
  const { raised, shares } = spending;
  // Rows are locked in the order of their ids, by everybody.
  const runs = writes.runs.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  await runStatement(sql, writeRuns, [
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
    arrayLiteral(raised.map((each) => each.id)),
    arrayLiteral(raised.map((each) => each.workspaceId)),
    arrayLiteral(raised.map((each) => each.startTime)),
    textArrayLiteral(raised.map((each) => sumText(each.below))),
    ...totalValues(raised.map((each) => each.totals)),
    arrayLiteral(shares.map((each) => each.id)),
    arrayLiteral(shares.map((each) => each.workspaceId)),
    textArrayLiteral(shares.map((each) => arrayLiteral(usageTexts(each.usage)))),
  ]);
}

function sumText(sum: UsageSum | null): string | null {
  return sum === null || isNothing(sum) ? null : arrayLiteral(usageTexts(sum));
}

function runValues(runs: readonly MergedRun[]): unknown[] {
  const columns: Record<string, string> = {};
  for (const [name] of simpleColumns) columns[name] = arrayLiteral(runs.map((run) => run[name]));
  for (const name of textColumns) columns[name] = textArrayLiteral(runs.map((run) => run[name]));
  columns.parent_run_ids = textArrayLiteral(runs.map((run) => arrayLiteral(run.parent_run_ids)));
  columns.tags = textArrayLiteral(runs.map((run) => textArrayLiteral(run.tags)));
  columns.terms = textArrayLiteral(runs.map((run) => arrayLiteral(run.terms)));
  columns.usage = textArrayLiteral(runs.map((run) => run.usage && arrayLiteral(usageTexts(run.usage))));
  columns.below = textArrayLiteral(runs.map((run) => sumText(run.below)));
  const totals = totalValues(runs.map((run) => totalsOf(passedOn(run))));
  for (const [index, name] of usageNames.entries()) columns[name] = totals[index]!;
  columns.spends = arrayLiteral(runs.map((run) => run.below !== null));
  columns.stored_start = arrayLiteral(runs.map((run) => run.storedStart));
  const blob = packBlob(runs, columns);
  return [...inputColumnNames.map((name) => columns[name]), blob];
}

function totalValues(totals: readonly UsageVector[]): string[] {
  const texts = totals.map(usageTexts);
  return usageNames.map((_, index) => arrayLiteral(texts.map((each) => each[index] ?? null)));
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
