import type { Database } from "../../../../platform/db/database.ts";
import { sqlState } from "../../../../platform/db/database-errors.ts";
import { type FlushPlan, planFlush, type QueuedRun, searchesFor } from "../../../runs/flush-plan.ts";
import type { RunChange } from "../../../runs/run-change.ts";
import type { RunKey } from "../../../runs/stored-run.ts";
import { planSpending } from "../../../runs/usage-plan.ts";
import type { PriceOf } from "../../../usage/model-prices.ts";
import type { RootSpan, RunWriting } from "../../run-storage.ts";
import type { Partitions } from "../partitions/partition-service.ts";
import { deleteParkedBefore, listOvertaken, listOvertakenSpending } from "./parked-store.ts";
import { findStoredRuns, insertNewRuns, writeRunChanges } from "./run-store.ts";
import { settleSpending } from "./settle-spending.ts";
import { holdSpenders } from "./spender-store.ts";
import { findRootSpans, relinkTraces } from "./trace-link-store.ts";

const conflictRetries = 3;

export type PostgresRunWritingOptions = { database: Database; partitions: Partitions; priceOf: PriceOf };

export class PostgresRunWriting implements RunWriting {
  readonly atOnce = { rows: 500, bytes: 4_000_000 };
  readonly #database: Database;
  readonly #partitions: Partitions;
  readonly #priceOf: PriceOf;
  readonly #buffers: Buffer[] = [];

  constructor(options: PostgresRunWritingOptions) {
    this.#database = options.database;
    this.#partitions = options.partitions;
    this.#priceOf = options.priceOf;
  }

  async write(rows: readonly QueuedRun[]): Promise<ReadonlySet<RunChange>> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#write(rows);
      } catch (error) {
        // Another process made one of these runs between our look and our write.
        if (attempt >= conflictRetries || sqlState(error) !== "23505") throw error;
      }
    }
  }

  listOvertaken(limit: number, since?: Date): Promise<RunKey[]> {
    return listOvertaken(this.#database.sql, { limit, since });
  }

  async settleOvertaken(limit: number, since?: Date): Promise<number> {
    const keys = await listOvertakenSpending(this.#database.sql, { limit, since });
    await settleSpending(this.#database, keys);
    return keys.length;
  }

  forgetWaiting(before: Date): Promise<void> {
    return deleteParkedBefore(this.#database.sql, before);
  }

  findRootSpans(workspaceId: string, traceIds: readonly string[]): Promise<Map<string, string>> {
    return findRootSpans(this.#database.sql, workspaceId, traceIds);
  }

  async relink(workspaceId: string, roots: readonly RootSpan[]): Promise<void> {
    await this.#database.transaction((tx) => relinkTraces(tx, workspaceId, roots));
    const keys = roots.map((root) => ({ id: root.traceId, workspaceId }));
    await settleSpending(this.#database, keys);
  }

  /** Returns the changes that were refused. */
  async #write(rows: readonly QueuedRun[]): Promise<ReadonlySet<RunChange>> {
    const found = await findStoredRuns(this.#database, searchesFor(rows));
    const plan = planFlush(rows, found, this.#priceOf);
    // Only runs without a dotted order need their parent's.
    if (plan.missingParents.length > 0) {
      const parents = await findStoredRuns(this.#database, plan.missingParents);
      const whole = planFlush(rows, found, this.#priceOf, parents);
      await this.#execute(whole);
      return whole.refused;
    }
    await this.#execute(plan);
    return plan.refused;
  }

  async #execute(plan: FlushPlan): Promise<void> {
    const database = this.#database;
    await this.#partitions.ensure(plan.runs.map((run) => run.start_time));
    if (plan.insertsOnly) {
      await insertNewRuns(database, plan.runs, this.#buffers);
      await settleSpending(database, plan.mayBeAwaited);
    } else if (plan.spenders.length === 0) {
      await writeRunChanges(database.sql, plan, { raised: [], shares: [] });
      await settleSpending(database, plan.mayBeAwaited);
    } else {
      const shares = await database.transaction(async (tx) => {
        // All that will be changed, too: in one order, or two writers could wait for each other.
        const changed = plan.runs.filter((run) => run.stored !== null);
        const keys = changed.map((run) => ({ id: run.id, workspaceId: run.workspace_id }));
        const spending = planSpending(plan.runs, await holdSpenders(tx, [...plan.spenders, ...keys]));
        await writeRunChanges(tx, plan, spending);
        return spending.shares;
      });
      // What was left for a parent that came meanwhile, or came for a run that is new, is found only now.
      await settleSpending(database, [...plan.mayBeAwaited, ...shares]);
    }
  }
}
