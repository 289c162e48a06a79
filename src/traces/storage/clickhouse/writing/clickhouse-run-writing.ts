import type { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import type { Clock } from "../../../../platform/clock.ts";
import { Batcher } from "../../../../platform/db/batch/batcher.ts";
import type { Database, Sql } from "../../../../platform/db/database.ts";
import { AppError } from "../../../../platform/errors.ts";
import type { Logger } from "../../../../platform/logger.ts";
import { type FlushPlan, planFlush, type QueuedRun } from "../../../runs/flush-plan.ts";
import type { RunChange } from "../../../runs/run-change.ts";
import type { FoundRun, RunKey } from "../../../runs/stored-run.ts";
import type { PriceOf } from "../../../usage/model-prices.ts";
import { readSum } from "../../../usage/usage-sum.ts";
import type { RootSpan, RunWriting } from "../../run-storage.ts";
import { CertainInsert } from "./certain-insert.ts";
import { KnownRuns, keyOf, keyOfRow } from "./known-runs.ts";
import { planLinks } from "./plan-links.ts";
import { planTotals } from "./plan-totals.ts";
import { goneRow, rowOf, storedRunOf, type WrittenRow, wireTime, withBelow } from "./run-row.ts";
import { RunTable } from "./run-table.ts";
import { checkStorable } from "./storable-row.ts";
import { listUnmovedProjects } from "./unmoved-store.ts";
import {
  deleteWaitingBefore,
  findWaiting,
  listAwaited,
  listPatched,
  markAwaited,
  parkPatches,
  unmarkAwaited,
  unparkPatches,
  type Waiting,
} from "./waiting-store.ts";
import { confirmHeld, holdFreeWorkspaces, holdWorkspaces } from "./workspace-lock-store.ts";

export type ClickHouseRunWritingOptions = {
  clickHouse: ClickHouse;
  database: Database;
  clock: Clock;
  logger: Logger;
  priceOf: PriceOf;
  /** How long an insert may take. */
  insertLimitMs?: number;
};

/** The locks that are held, and the table as long as they should be. */
type Turn = { tx: Sql; table: RunTable };

/** How often a write begins again because something had to be noted before it. */
const maxRounds = 8;
/** How long a round reads and prepares, in all: clients wait for the answer, others for the locks. */
const roundLimitMs = 30_000;
const pageOfWaiting = 1_000;
const firstKey: RunKey = {
  id: "00000000-0000-0000-0000-000000000000",
  workspaceId: "00000000-0000-0000-0000-000000000000",
};

/**
 * Runs in ClickHouse. Patches that came before their run, and notes of totals that are to be worked out again, wait in PostgreSQL,
 * which also holds the lock under which a workspace's runs are read, merged and written.
 */
export class ClickHouseRunWriting implements RunWriting {
  readonly atOnce = { rows: 2_000, bytes: 16_000_000, workspaces: 3 };
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #priceOf: PriceOf;
  readonly #table: RunTable;
  /** Of all requests together: each of them would wait for the lock with a connection of its own, until none is left. */
  readonly #links: Batcher<RootSpan & { workspaceId: string }, void>;

  constructor(options: ClickHouseRunWritingOptions) {
    const { clickHouse, logger, insertLimitMs } = options;
    this.#database = options.database;
    this.#clock = options.clock;
    this.#logger = logger;
    this.#priceOf = options.priceOf;
    const inserts = new CertainInsert({
      clickHouse,
      logger,
      ...(insertLimitMs && { limitMs: insertLimitMs }),
    });
    this.#table = new RunTable(clickHouse, inserts);
    this.#links = new Batcher({
      name: "trace_links",
      lanes: 1,
      maxRows: 200,
      patienceMs: roundLimitMs / 2,
      keyOf: ({ workspaceId, traceId, spanRunId }) => workspaceId + traceId + spanRunId,
      flush: async (roots) => {
        for (const [workspaceId, some] of Map.groupBy(roots, (root) => root.workspaceId))
          await this.#inTurn([workspaceId], (turn) => this.#link(turn, workspaceId, some));
        return roots.map(() => undefined);
      },
    });
  }

  async write(
    rows: readonly QueuedRun[],
    onBusy?: (workspaceId: string) => void,
  ): Promise<ReadonlySet<RunChange>> {
    const workspaceIds = [...new Set(rows.map((row) => row.workspaceId))];
    if (!onBusy) return await this.#inTurn(workspaceIds, (turn) => this.#flush(turn, rows));
    let held = new Set<string>();
    const refused = await this.#again(async (tx) => {
      held = await holdFreeWorkspaces(tx, workspaceIds);
      if (held.size === 0) return new Set<RunChange>();
      return await this.#flush(
        this.#turnOf(tx),
        rows.filter((row) => held.has(row.workspaceId)),
      );
    });
    for (const id of workspaceIds) if (!held.has(id)) onBusy(id);
    return refused;
  }

  async listOvertaken(limit: number): Promise<RunKey[]> {
    return await this.#listStored(listPatched, limit);
  }

  async settleOvertaken(limit: number): Promise<number> {
    const keys = await this.#listStored(listAwaited, limit);
    for (const [workspaceId, some] of Map.groupBy(keys, (key) => key.workspaceId))
      await this.#settleAsFarAsPossible(workspaceId, some);
    return keys.length;
  }

  forgetWaiting(before: Date): Promise<void> {
    return deleteWaitingBefore(this.#database.sql, before);
  }

  async findRootSpans(workspaceId: string, traceIds: readonly string[]): Promise<Map<string, string>> {
    if (traceIds.length === 0) return new Map();
    const rows = await this.#table.findRootSpans(workspaceId, traceIds);
    return new Map(rows.map(({ id, span }) => [id, span]));
  }

  async relink(workspaceId: string, roots: readonly RootSpan[]): Promise<void> {
    await this.#links.addMany(roots.map((root) => ({ ...root, workspaceId })));
  }

  /** Works under the locks of the workspaces. */
  #inTurn<Result>(
    workspaceIds: readonly string[],
    work: (turn: Turn) => Promise<Result | undefined>,
  ): Promise<Result> {
    return this.#again(async (tx) => {
      await holdWorkspaces(tx, workspaceIds);
      return await work(this.#turnOf(tx));
    });
  }

  #turnOf(tx: Sql): Turn {
    return { tx, table: this.#table.within(roundLimitMs) };
  }

  /** Undefined: something was noted, which must be committed before anything is written to ClickHouse; then it is begun again. */
  async #again<Result>(work: (tx: Sql) => Promise<Result | undefined>): Promise<Result> {
    for (let round = 0; round < maxRounds; round++) {
      const result = await this.#database.transaction(work);
      if (result !== undefined) return result;
    }
    throw new AppError({
      code: "database.contention",
      kind: "unavailable",
      message: "Too many changes of the same runs came at once. Send the same request again.",
    });
  }

  async #flush(turn: Turn, rows: readonly QueuedRun[]): Promise<ReadonlySet<RunChange> | undefined> {
    const { tx, table } = turn;
    const keys = rows.map(({ id, workspaceId }) => ({ id, workspaceId }));
    const known = new KnownRuns(table);
    const waiting = new Map((await findWaiting(tx, keys)).map((each) => [keyOf(each), each]));
    const [begun, changed] = [rows.filter(isPosted), rows.filter((row) => !isPosted(row))];
    await Promise.all([
      known.load(begun, { withExtra: true, areLikelyNew: true }),
      known.load(changed, { withExtra: true }),
      known.load(rows.flatMap(namedAbove)),
    ]);
    const plan = await this.#plan(rows, known, waiting, await this.#projectsElsewhere(tx, rows, known));
    const awaited = plan.runs.map(keyOfRow).filter((key) => waiting.get(keyOf(key))?.is_awaited);
    const totals = await planTotals({ tx, known, table, spenders: plan.spenders, awaited }, plan.runs);
    if ((await markAwaited(tx, totals.open)) > 0) return undefined;
    const now = this.#clock.now().toISOString();
    const written = plan.runs.map((run) => rowOf(run, known.get(keyOfRow(run)), now));
    await this.#write(turn, known, written, totals.raised);
    await unparkPatches(tx, plan.unpark);
    await parkPatches(tx, plan.park);
    await unmarkAwaited(tx, totals.settled);
    return plan.refused;
  }

  /** Of runs that are still to be moved, where that decides who may write to them. They come here under the same locks. */
  async #projectsElsewhere(
    tx: Sql,
    rows: readonly QueuedRun[],
    known: KnownRuns,
  ): Promise<ReadonlyMap<string, string>> {
    const asked = rows.filter(
      (row) => row.changes.some(({ onlyProjectId }) => onlyProjectId !== undefined) && !known.get(row),
    );
    if (asked.length === 0) return new Map();
    return new Map((await listUnmovedProjects(tx, asked)).map((each) => [keyOf(each), each.projectId]));
  }

  async #plan(
    rows: readonly QueuedRun[],
    known: KnownRuns,
    waiting: ReadonlyMap<string, Waiting>,
    elsewhere: ReadonlyMap<string, string>,
  ): Promise<FlushPlan> {
    const foundOf = (keys: readonly RunKey[]) =>
      keys.flatMap((key) => foundRun(key, known, waiting, elsewhere) ?? []);
    const found = foundOf(rows);
    const plan = planFlush(rows, found, this.#priceOf);
    if (plan.missingParents.length === 0) return plan;
    // Only runs without a dotted order need their parent's.
    await known.load(plan.missingParents);
    return planFlush(rows, found, this.#priceOf, foundOf(plan.missingParents));
  }

  /**
   * First the rows that count, then the end of those at places where runs stood before: whatever is cut short, a run is never gone.
   * One that is then at two places is put right by its next write.
   */
  async #write(
    { tx, table }: Turn,
    known: KnownRuns,
    written: readonly WrittenRow[],
    raised: readonly WrittenRow[],
  ): Promise<void> {
    for (const row of [...written, ...raised]) checkStorable(row);
    const moved = written.filter((row) => isElsewhere(row, known));
    const left = moved.map((row) => known.get(keyOfRow(row))!);
    // Each may take so long that all of them would outlast the locks.
    if (moved.length > 0) {
      await confirmHeld(tx);
      await table.copyPayloads(moved);
    }
    for (const rows of [[...written, ...raised], [...left, ...known.doubles].map(goneRow)]) {
      if (rows.length === 0) continue;
      await confirmHeld(tx);
      await table.insert(rows);
    }
  }

  /** Totals that are too large to be stored are given up: they would keep all others waiting. */
  async #settleAsFarAsPossible(workspaceId: string, keys: readonly RunKey[]): Promise<void> {
    try {
      await this.#inTurn([workspaceId], (turn) => this.#settle(turn, keys));
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== "unprocessable") throw error;
      if (keys.length === 1) {
        this.#logger.warn({ err: error, runId: keys[0]!.id }, "totals of a run are given up");
        return await unmarkAwaited(this.#database.sql, keys);
      }
      const middle = Math.ceil(keys.length / 2);
      for (const half of [keys.slice(0, middle), keys.slice(middle)])
        await this.#settleAsFarAsPossible(workspaceId, half);
    }
  }

  async #settle(turn: Turn, keys: readonly RunKey[]): Promise<true | undefined> {
    const { tx, table } = turn;
    const known = new KnownRuns(table);
    await known.load(keys);
    const awaited = keys.filter((key) => known.get(key));
    const totals = await planTotals({ tx, known, table, spenders: [], awaited }, []);
    if ((await markAwaited(tx, totals.open)) > 0) return undefined;
    await this.#write(turn, known, [], totals.raised);
    await unmarkAwaited(tx, totals.settled);
    return true;
  }

  async #link(turn: Turn, workspaceId: string, roots: readonly RootSpan[]): Promise<true | undefined> {
    const { tx, table } = turn;
    const traceIds = roots.map((root) => root.traceId);
    const links = planLinks(await table.findAstray(workspaceId, traceIds), roots);
    const keyOfId = (id: string) => ({ id, workspaceId });
    const spans = roots.map((root) => keyOfId(root.spanRunId));
    const waiting = (await findWaiting(tx, [...spans, ...traceIds.map(keyOfId)])).filter(
      (each) => each.is_awaited,
    );
    // What runs below a root spent may have been noted for its span.
    const noted = new Set(waiting.map((each) => each.id));
    const parents = roots
      .filter(
        (root) =>
          noted.has(root.spanRunId) || noted.has(root.traceId) || links.parents.includes(root.traceId),
      )
      .map((root) => keyOfId(root.traceId));
    if ((await markAwaited(tx, parents)) > 0) return undefined;
    const known = new KnownRuns(table);
    await known.load(links.moved.map((row) => keyOfId(row.id)));
    const written = links.moved.flatMap(({ id, parent_run_ids, dotted_order }) => {
      const row = known.get(keyOfId(id));
      if (!row) return [];
      const placed = { ...row, parent_run_ids, dotted_order, is_root: parent_run_ids.length === 0 };
      return [withBelow(placed, readSum(row.below))];
    });
    await this.#write(turn, known, written, []);
    await unmarkAwaited(tx, spans);
    return await this.#settle(turn, parents);
  }

  async #listStored(
    list: (sql: Sql, after: RunKey, limit: number) => Promise<RunKey[]>,
    limit: number,
  ): Promise<RunKey[]> {
    const stored: RunKey[] = [];
    let after: RunKey | undefined = firstKey;
    while (after && stored.length < limit) {
      const page: RunKey[] = await list(this.#database.sql, after, pageOfWaiting);
      stored.push(...(await this.#table.findStored(page)));
      after = page.length < pageOfWaiting ? undefined : page.at(-1);
    }
    return stored.slice(0, limit);
  }
}

const isPosted = ({ changes }: QueuedRun) => changes.some(({ kind }) => kind === "post");

/** The runs above it that a change names: their totals may change with it. */
function namedAbove({ workspaceId, changes }: QueuedRun): RunKey[] {
  return changes.flatMap(({ fields }) => {
    const ids = fields.path
      ? fields.path.slice(0, -1).map(({ id }) => id)
      : [fields.parent_run_id ?? []].flat();
    return ids.map((id) => ({ id, workspaceId }));
  });
}

function foundRun(
  key: RunKey,
  known: KnownRuns,
  waiting: ReadonlyMap<string, Waiting>,
  elsewhere: ReadonlyMap<string, string>,
): FoundRun | undefined {
  const row = known.get(key);
  const kept = waiting.get(keyOf(key));
  const project_elsewhere = elsewhere.get(keyOf(key));
  if (!row && !kept && !project_elsewhere) return undefined;
  return {
    project_elsewhere,
    ...{ id: key.id, workspace_id: key.workspaceId, stands_at: row ? wireTime(row.start_time) : null },
    ...{
      run: row ? storedRunOf(row, known.extraOf(key)) : null,
      patches: kept?.patches ?? null,
      last_seq: kept?.last_seq ?? null,
    },
    has_usage: kept?.is_awaited ?? false,
  };
}

function isElsewhere(row: WrittenRow, known: KnownRuns): boolean {
  const stored = known.get(keyOfRow(row));
  return (
    stored !== undefined && (stored.start_time !== row.start_time || stored.project_id !== row.project_id)
  );
}
