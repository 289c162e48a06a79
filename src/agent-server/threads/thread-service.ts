import { Batcher } from "../../platform/db/batch/batcher.ts";
import type { Database } from "../../platform/db/database.ts";
import type { RawBuilder } from "../../platform/db/raw.ts";
import type { TableGrowth } from "../../platform/db/table-growth.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { copyThreadCheckpoints, keepLatestCheckpoints } from "../checkpoints/checkpoint-maintenance-store.ts";
import type { ThreadRow, ThreadTtl, TtlStrategy } from "./thread.ts";
import { threadNotFound } from "./thread.ts";
import {
  copyThreadRow,
  deleteThreadEvents,
  deleteThreadRows,
  findThreadById,
  insertNewThreads,
  lockThread,
  type NewThread,
  ownThreadIds,
  patchThread,
} from "./thread-store.ts";

export type ThreadServiceOptions = {
  database: Database;
  growth: TableGrowth;
  /** TTL of threads that ask for none, from the project's configuration. */
  defaultTtl: ThreadTtl | null;
  /** Stops the runs of threads that are about to go. */
  stopRuns(workspaceId: string, threadId: string): Promise<void>;
};

/** Use cases of threads, without their state. */
export class ThreadService {
  readonly #options: ThreadServiceOptions;
  readonly #inserts: Batcher<NewThread, ThreadRow | null>;

  constructor(options: ThreadServiceOptions) {
    this.#options = options;
    this.#inserts = new Batcher<NewThread, ThreadRow | null>({
      name: "thread_inserts",
      lanes: 2,
      maxRows: 500,
      maxBytes: 2_000_000,
      flush: (rows) => insertNewThreads(options.database, rows),
    });
  }

  async create(
    workspaceId: string,
    request: {
      threadId?: string | undefined;
      metadata: Record<string, unknown>;
      ttl: ThreadTtl | null;
      ifExists: "raise" | "do_nothing";
      /** What an existing thread must fulfil to be the caller's. */
      condition?: RawBuilder<unknown> | undefined;
    },
  ): Promise<{ row: ThreadRow; created: boolean }> {
    const threadId = request.threadId ?? newId();
    const { database, growth, defaultTtl } = this.#options;
    const row = await this.#inserts.add({
      threadId,
      workspaceId,
      metadata: request.metadata,
      ttl: request.ttl ?? defaultTtl,
    });
    if (row) {
      growth.note();
      return { row, created: true };
    }
    // A new id is taken only by this very insert: the connection was lost after it had committed, and it was made again.
    const isOurs = request.threadId === undefined;
    const condition = isOurs ? undefined : request.condition;
    const existing =
      isOurs || request.ifExists === "do_nothing"
        ? await findThreadById(database, workspaceId, threadId, condition)
        : null;
    if (existing) return { row: existing, created: isOurs };
    throw new AppError({
      code: "thread.exists",
      kind: "conflict",
      message: `Thread with ID ${threadId} already exists`,
    });
  }

  async get(workspaceId: string, threadId: string): Promise<ThreadRow> {
    const row = await findThreadById(this.#options.database, workspaceId, threadId);
    if (!row) throw threadNotFound(threadId);
    return row;
  }

  async patch(
    workspaceId: string,
    threadId: string,
    patch: { metadata: Record<string, unknown>; ttl: ThreadTtl | undefined },
  ): Promise<ThreadRow> {
    return this.#options.database.transaction(async (tx) => {
      if (!(await lockThread(tx, workspaceId, threadId))) throw threadNotFound(threadId);
      return patchThread(tx, threadId, patch);
    });
  }

  async remove(workspaceId: string, threadId: string): Promise<void> {
    await this.get(workspaceId, threadId);
    await this.#options.stopRuns(workspaceId, threadId);
    await deleteThreads(this.#options.database, [threadId]);
  }

  /** Everything but the runs: a copy has the state and its history, not the work that made it. */
  async copy(workspaceId: string, threadId: string): Promise<ThreadRow> {
    const copyId = newId();
    await this.#options.database.transaction(async (tx) => {
      if (!(await lockThread(tx, workspaceId, threadId))) throw threadNotFound(threadId);
      await copyThreadRow(tx, threadId, copyId);
      await copyThreadCheckpoints(tx, threadId, copyId);
    });
    return this.get(workspaceId, copyId);
  }

  async prune(
    workspaceId: string,
    threadIds: string[],
    strategy: TtlStrategy,
    condition?: RawBuilder<unknown>,
  ): Promise<number> {
    const { database } = this.#options;
    const own = await ownThreadIds(database.sql, workspaceId, threadIds, condition);
    if (strategy === "delete") {
      for (const threadId of own) await this.#options.stopRuns(workspaceId, threadId);
      if (own.length > 0) await deleteThreads(database, own);
    } else {
      for (const threadId of own) await database.transaction((tx) => keepLatestCheckpoints(tx, [threadId]));
    }
    return own.length;
  }
}

/** Threads with their runs, events and checkpoints, all or nothing. */
export async function deleteThreads(database: Database, threadIds: readonly string[]): Promise<void> {
  await database.transaction(async (tx) => {
    await deleteThreadRows(tx, threadIds);
    await deleteThreadEvents(tx, threadIds);
  });
}

/**
 * Removes the threads of stateless runs, many at a time. Their events stay until they are swept by age: a
 * reader may still be busy with them.
 */
export function temporaryThreads(database: Database): Batcher<string, boolean> {
  return new Batcher<string, boolean>({
    name: "temporary_threads",
    lanes: 1,
    maxRows: 500,
    flush: async (threadIds) => {
      await database.transaction((tx) => deleteThreadRows(tx, threadIds));
      return threadIds.map(() => true);
    },
  });
}
