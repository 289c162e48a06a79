import { Batcher, type BatcherStats } from "../../platform/db/batch/batcher.ts";
import type { Database } from "../../platform/db/database.ts";
import { sqlState } from "../../platform/db/database-errors.ts";
import type { Partitions } from "../runs/partition-service.ts";
import type { RunChange } from "../runs/run-change.ts";
import { findStoredRuns, insertNewRuns, type RunKey, writeRunChanges } from "../runs/run-store.ts";
import { holdSpenders } from "../runs/spender-store.ts";
import { planSpending } from "../runs/usage-plan.ts";
import type { PriceOf } from "../usage/model-prices.ts";
import { type FlushPlan, planFlush, type QueuedRun, searchesFor } from "./flush-plan.ts";
import { settleSpending } from "./settle-spending.ts";

const conflictRetries = 3;

export type RunWriterOptions = { database: Database; partitions: Partitions; priceOf: PriceOf };

/** Group commit of runs: changes of one run are merged while they wait and never written by two lanes at once. */
export class RunWriter {
  readonly #database: Database;
  readonly #partitions: Partitions;
  readonly #priceOf: PriceOf;
  readonly #batcher: Batcher<QueuedRun, ReadonlySet<RunChange>>;
  readonly #buffers: Buffer[] = [];

  constructor(options: RunWriterOptions) {
    this.#database = options.database;
    this.#partitions = options.partitions;
    this.#priceOf = options.priceOf;
    this.#batcher = new Batcher<QueuedRun, ReadonlySet<RunChange>>({
      name: "trace_runs",
      lanes: 2,
      maxRows: 500,
      maxBytes: 4_000_000,
      maxQueuedRows: 10_000,
      maxQueuedBytes: 64_000_000,
      keyOf: (row) => `${row.workspaceId}${row.id}`,
      merge: (older, newer) => ({
        ...older,
        changes: [...older.changes, ...newer.changes],
        bytes: older.bytes + newer.bytes,
      }),
      bytesOf: (row) => row.bytes,
      flush: (rows) => this.#flush(rows),
    });
  }

  /** Resolves once the change is committed. False: refused, because its sender may not write to the run's project. */
  async add(change: RunChange): Promise<boolean> {
    const { id, workspaceId, bytes } = change;
    const refused = await this.#batcher.add({ id, workspaceId, changes: [change], bytes });
    return !refused.has(change);
  }

  /** Adds up what waits for these runs, as far as they are stored. */
  settle(keys: readonly RunKey[]): Promise<void> {
    return settleSpending(this.#database, keys);
  }

  drain(): Promise<void> {
    return this.#batcher.drain();
  }

  stats(): BatcherStats {
    return this.#batcher.stats();
  }

  async #flush(rows: readonly QueuedRun[]): Promise<ReadonlySet<RunChange>[]> {
    for (let attempt = 0; ; attempt++) {
      try {
        const refused = await this.#write(rows);
        return rows.map(() => refused);
      } catch (error) {
        // Another process made one of these runs between our look and our write.
        if (attempt >= conflictRetries || sqlState(error) !== "23505") throw error;
      }
    }
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
