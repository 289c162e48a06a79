import type { Database } from "../../platform/db/database.ts";
import type { Caller } from "../../platform/http/caller.ts";
import { metadataCondition } from "../auth/auth-filter.ts";
import { threadNotFound } from "../runs/run-service.ts";
import { findOwnership, markProtocolThread, type ProtocolThread } from "./protocol-store.ts";

/** Which threads a caller may speak about. One that does not exist yet may be: its first run makes it. */
export class ThreadAccess {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Undefined while there is no such thread; somebody else's is not found. */
  async find(caller: Caller, threadId: string): Promise<ProtocolThread | undefined> {
    const condition = metadataCondition(caller.rowFilter);
    const owner = await findOwnership(this.#database.sql, caller.workspaceId, threadId, condition);
    if (owner.kind === "other") throw threadNotFound(threadId);
    return owner.kind === "own" ? owner.thread : undefined;
  }

  /** `find`, and whatever runs on the thread from now on is told to clients of the protocol. */
  async open(caller: Caller, threadId: string): Promise<ProtocolThread | undefined> {
    const thread = await this.find(caller, threadId);
    if (thread) await markProtocolThread(this.#database.sql, threadId);
    return thread;
  }
}
