import type { Database } from "../../platform/db/database.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { AgentGuard } from "./agent-guard.ts";
import { isPlain } from "./auth-filter.ts";
import { requireRow } from "./route-guard.ts";

export type RunDraft = {
  threadId: string;
  /** The thread is made with the run. */
  createThread: boolean;
  assistantId: string;
  metadata: Record<string, unknown>;
  multitaskStrategy: string;
  ifNotExists: string;
  afterSeconds: number | undefined;
  kwargs: Record<string, unknown>;
};

export type RunPermit = {
  /** Of the run, with what the handlers added. */
  metadata: Record<string, unknown>;
  /** Of the run, as the handlers left them. */
  kwargs: Record<string, unknown>;
  /** What a thread that is made with the run must carry, so that its maker finds it again. */
  threadMetadata: Record<string, unknown>;
};

/** `threads:create_run`, and `threads:create` for a thread that comes with the run. */
export async function permitRun(
  guard: AgentGuard,
  database: Database,
  caller: Caller,
  draft: RunDraft,
): Promise<RunPermit> {
  const value: Record<string, unknown> = {
    thread_id: draft.threadId,
    assistant_id: draft.assistantId,
    status: "pending",
    metadata: { ...draft.metadata },
    prevent_insert_if_inflight: draft.multitaskStrategy === "reject",
    multitask_strategy: draft.multitaskStrategy,
    if_not_exists: draft.ifNotExists,
    after_seconds: draft.afterSeconds ?? null,
    kwargs: draft.kwargs,
  };
  const filter = await guard.check(caller, "threads", "create_run", value);
  const metadata = isPlain(value.metadata) ? value.metadata : {};
  const kwargs = isPlain(value.kwargs) ? value.kwargs : draft.kwargs;
  if (!draft.createThread) {
    const options = { database, assistantIdOf: (id: string) => id };
    await requireRow(caller, { kind: "thread", id: draft.threadId }, filter, options);
    return { metadata, kwargs, threadMetadata: {} };
  }
  const made: Record<string, unknown> = {
    thread_id: draft.threadId,
    // The thread carries what its first run does; what the caller claims there is for the handlers to correct.
    metadata: { ...metadata },
    if_exists: "do_nothing",
  };
  await guard.check(caller, "threads", "create", made);
  return { metadata, kwargs, threadMetadata: isPlain(made.metadata) ? made.metadata : {} };
}
