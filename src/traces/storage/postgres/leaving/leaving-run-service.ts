import { withFreeAdvisoryLock } from "../../../../platform/db/advisory-lock.ts";
import type { Database } from "../../../../platform/db/database.ts";
import { isContentionError } from "../../../../platform/db/database-errors.ts";
import { AppError, type ErrorKind } from "../../../../platform/errors.ts";
import type { QueuedRun } from "../../../runs/flush-plan.ts";
import { listPartitions } from "../partitions/partition-store.ts";
import { type LeavingRun, leavingChanges } from "./leaving-run.ts";
import {
  countLeaving,
  deleteLeft,
  emptyPartition,
  type FeedbackOnRun,
  hasLeaving,
  holdLeaving,
  type LeavingCursor,
  type LeavingKey,
  listFeedbackOn,
  listLeaving,
  listLeavingProjects,
} from "./leaving-run-store.ts";

/** Where runs go. Each call may be repeated. */
export type RunDestination = {
  write(rows: readonly QueuedRun[]): Promise<unknown>;
  copyFeedback(feedback: readonly FeedbackOnRun[]): Promise<void>;
};

/** Runs that the other engine cannot store, and why; they stay. */
export type KeptRun = { id: string; reason: string };
export type MoveProgress = { moved: number; kept: KeptRun[] };

type MoveOptions = { onProgress?(progress: MoveProgress): void; signal?: AbortSignal };

export type LeavingRunsOptions = {
  database: Database;
  destination: RunDestination;
  /** Runs of one step, and their bytes. */
  stepRows?: number;
  stepBytes?: number;
};

const contentKinds: ReadonlySet<ErrorKind> = new Set(["invalid", "unprocessable", "too_large"]);

/**
 * Moves runs out of PostgreSQL. What is still there is what is to be moved: a step writes runs to the other engine, then deletes them here,
 * while it holds them. One that was cut short in between is repeated, which changes nothing there.
 */
export class LeavingRuns {
  readonly #database: Database;
  readonly #destination: RunDestination;
  readonly #stepRows: number;
  readonly #stepBytes: number;

  constructor(options: LeavingRunsOptions) {
    this.#database = options.database;
    this.#destination = options.destination;
    this.#stepRows = options.stepRows ?? 2_000;
    this.#stepBytes = options.stepBytes ?? 16_000_000;
  }

  count(): Promise<number> {
    return countLeaving(this.#database.sql);
  }

  any(): Promise<boolean> {
    return hasLeaving(this.#database.sql);
  }

  /** All of them, of each project the newest first, until none is left or the signal says so. One process at a time. */
  async moveAlone(options: MoveOptions & { onCounted?(total: number): void }): Promise<MoveProgress> {
    const result = await withFreeAdvisoryLock(this.#database.sql, "treadle.traces_migrate", async () => {
      options.onCounted?.(await this.count());
      const moved = await this.#moveAll(options);
      if (!options.signal?.aborted) await this.#releaseSpace();
      return moved;
    });
    if (result) return result;
    throw new AppError({
      code: "traces.being_moved",
      kind: "conflict",
      message: "Another process is moving the runs of this database. Wait until it has ended.",
    });
  }

  /** Of months that are empty now: deleted rows alone give nothing back to the disk. One that is in use at the moment keeps it. */
  async #releaseSpace(): Promise<void> {
    for (const name of await listPartitions(this.#database.sql)) {
      try {
        await this.#database.transaction((tx) => emptyPartition(tx, name));
      } catch (error) {
        if (!isContentionError(error)) throw error;
      }
    }
  }

  async #moveAll({ onProgress, signal }: MoveOptions): Promise<MoveProgress> {
    const all = { moved: 0, kept: new Map<string, KeptRun>() };
    const progress = (): MoveProgress => ({ moved: all.moved, kept: [...all.kept.values()] });
    for (;;) {
      const before = all.moved;
      // Projects take turns, so that the newest runs of each are there first.
      let open = (await listLeavingProjects(this.#database.sql)).map((id) => ({
        id,
        after: undefined as LeavingCursor | undefined,
      }));
      while (open.length > 0) {
        const next: typeof open = [];
        for (const project of open) {
          if (signal?.aborted) return progress();
          const { keys, last } = await listLeaving(this.#database, project.id, {
            after: project.after,
            limit: Math.ceil(this.#stepRows / 4),
            traceLimit: this.#stepRows * 2,
          });
          for (const step of this.#steps(keys.filter(({ id }) => !all.kept.has(id)))) {
            if (signal?.aborted) return progress();
            const { moved, kept } = await this.#move(step);
            all.moved += moved;
            for (const run of kept) all.kept.set(run.id, run);
            onProgress?.(progress());
          }
          if (last) next.push({ id: project.id, after: last });
        }
        open = next;
      }
      // A server that was replaced late may have written behind us.
      if (all.moved === before) return progress();
    }
  }

  #steps(keys: readonly LeavingKey[]): LeavingKey[][] {
    const steps: LeavingKey[][] = [];
    let step: LeavingKey[] = [];
    let bytes = 0;
    for (const key of keys) {
      if (step.length >= this.#stepRows || (step.length > 0 && bytes + key.bytes > this.#stepBytes)) {
        steps.push(step);
        step = [];
        bytes = 0;
      }
      step.push(key);
      bytes += key.bytes;
    }
    return step.length > 0 ? [...steps, step] : steps;
  }

  async #move(keys: readonly LeavingKey[]): Promise<MoveProgress> {
    return await this.#database.transaction(async (tx) => {
      const runs = await holdLeaving(tx, keys);
      const kept = await this.#write(runs);
      const names = new Set(kept.map((each) => each.id));
      const gone = runs.filter((run) => !names.has(run.id));
      if (gone.length > 0) {
        await this.#destination.copyFeedback(await listFeedbackOn(tx, gone));
        await deleteLeft(tx, gone);
      }
      return { moved: gone.length, kept };
    });
  }

  /** Returns those that cannot be stored there: a step is halved until they are alone. */
  async #write(runs: readonly LeavingRun[]): Promise<KeptRun[]> {
    if (runs.length === 0) return [];
    try {
      await this.#destination.write(runs.map(leavingChanges));
      return [];
    } catch (error) {
      if (!(error instanceof AppError) || !contentKinds.has(error.kind)) throw error;
      if (runs.length === 1) return [{ id: runs[0]!.id, reason: error.message }];
      const middle = Math.ceil(runs.length / 2);
      return [...(await this.#write(runs.slice(0, middle))), ...(await this.#write(runs.slice(middle)))];
    }
  }
}
