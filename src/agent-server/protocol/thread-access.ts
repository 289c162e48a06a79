import { Batcher } from "../../platform/db/batch/batcher.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { metadataCondition } from "../auth/auth-filter.ts";
import { threadNotFound } from "../threads/thread.ts";
import {
  findOwnership,
  findOwnerships,
  markProtocolThread,
  type Ownership,
  type OwnershipQuery,
  type ProtocolThread,
} from "./protocol-store.ts";

/** Which threads a caller may speak about. One that does not exist yet may be: its first run makes it. */
export class ThreadAccess {
  readonly #database: Database;
  /** Batched, because the events of active runs wait for the same few connections. */
  readonly #lookups: Batcher<OwnershipQuery, Ownership>;

  constructor(database: Database) {
    this.#database = database;
    this.#lookups = new Batcher<OwnershipQuery, Ownership>({
      name: "protocol_threads",
      lanes: 1,
      maxRows: 200,
      flush: (queries) => findOwnerships(database, queries),
    });
  }

  /** Undefined while the thread does not exist. Throws "not found" for a thread of another owner. */
  async find(caller: Caller, threadId: string): Promise<ProtocolThread | undefined> {
    const condition = metadataCondition(caller.rowFilter);
    const query = { workspaceId: caller.workspaceId, threadId };
    const owner = condition
      ? await findOwnership(this.#database.sql, query, condition)
      : await this.#lookups.add(query);
    if (owner.kind === "other") throw threadNotFound(threadId);
    return owner.kind === "own" ? owner.thread : undefined;
  }

  /** `find`; in addition, all runs on the thread write protocol events from now on. */
  async open(caller: Caller, threadId: string): Promise<ProtocolThread | undefined> {
    const thread = await this.find(caller, threadId);
    if (thread && !thread.protocol) await markProtocolThread(this.#database.sql, threadId);
    return thread;
  }
}
