import type { Database } from "../../platform/db/database.ts";
import type { RawBuilder } from "../../platform/db/raw.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { AgentGuard } from "../auth/agent-guard.ts";
import { metadataCondition } from "../auth/auth-filter.ts";
import { requireRow } from "../auth/route-guard.ts";

export type RpcPermitsOptions = {
  /** Absent where the project brings no authorization; then nothing is asked. */
  guard: AgentGuard | undefined;
  database: Database;
};

/**
 * The project's authorization for requests that name what they touch in their body: the rules in front of the
 * routes see only the path.
 */
export class RpcPermits {
  readonly #options: RpcPermitsOptions;

  constructor(options: RpcPermitsOptions) {
    this.#options = options;
  }

  /** What an assistant must fulfil to be shown in a list; undefined restricts nothing. */
  async assistantCondition(caller: Caller): Promise<RawBuilder<unknown> | undefined> {
    const value = { metadata: {}, limit: 1000, offset: 0 };
    return metadataCondition(await this.#options.guard?.check(caller, "assistants", "search", value));
  }

  /** The same for threads. */
  async threadCondition(caller: Caller): Promise<RawBuilder<unknown> | undefined> {
    const value = { metadata: {}, limit: 1000, offset: 0 };
    return metadataCondition(await this.#options.guard?.check(caller, "threads", "search", value));
  }

  async readAssistant(caller: Caller, assistantId: string): Promise<void> {
    const filter = await this.#options.guard?.check(caller, "assistants", "read", {
      assistant_id: assistantId,
    });
    await requireRow(caller, { kind: "assistant", id: assistantId }, filter, this.#rows);
  }

  async onThread(caller: Caller, action: "read" | "update", threadId: string): Promise<void> {
    const filter = await this.#options.guard?.check(caller, "threads", action, { thread_id: threadId });
    await requireRow(caller, { kind: "thread", id: threadId }, filter, this.#rows);
  }

  get #rows() {
    return { database: this.#options.database, assistantIdOf: (id: string) => id };
  }
}
