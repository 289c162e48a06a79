import type { ChatCheckpoint, ChatThreadState } from "../../../../openapi/wire.d.ts";

/** `failed`: the last run ended with an error; `stopped`: it was stopped before it was done. */
export type ThreadStatus = "idle" | "busy" | "interrupted" | "stopped" | "failed";

/** One line of the sidebar. */
export type ThreadSummary = {
  thread_id: string;
  title: string;
  status: ThreadStatus;
  assistant_id: string;
  /** Another one means the thread went on. */
  version: string;
};

export type Assistant = { assistant_id: string; graph_id: string; name: string; description: string };

type Schema = { properties?: Record<string, Record<string, unknown>> } | null;
export type AssistantSchemas = { config_schema?: Schema; context_schema?: Schema };

/** A state as its history lists it: there it has a place, and its values are those of a chat. */
export type Checkpoint = Omit<ChatThreadState, "values" | "metadata" | "checkpoint"> & {
  values: { messages?: unknown[] };
  metadata: { step?: number; source?: string; assistant_id?: string; run_id?: string };
  checkpoint: ChatCheckpoint;
};

/** A server one can talk to: the built-in one, that of a deployment, any other by its address, or the example. */
export type ChatServer = {
  readonly id: string;
  readonly name: string;
  readonly kind: "built-in" | "deployment" | "address" | "example";
  /** Where the endpoints of its threads are. */
  readonly apiUrl: string;
  readonly streamPath: (threadId: string) => string;
  /** Every request to it, a stream's included, goes through this. */
  readonly fetch: typeof fetch;
  /** The latest first, and the one to include, however old it is. */
  listThreads(page: { limit: number; include: string | null }): Promise<ThreadSummary[]>;
  listAssistants(): Promise<Assistant[]>;
  /** What the assistant can be set to; undefined where a server does not tell. */
  readSchemas: ((assistantId: string) => Promise<AssistantSchemas>) | undefined;
  deleteThread(threadId: string): Promise<void>;
  /** Undefined where titles cannot be changed. */
  renameThread: ((threadId: string, title: string) => Promise<void>) | undefined;
  /** Newest first. */
  listCheckpoints(threadId: string, page: { limit: number; before?: string }): Promise<Checkpoint[]>;
  /** The thread continues from here; what came later stays in its history. */
  goBack(threadId: string, checkpointId: string): Promise<void>;
  /** `stream.stop()` knows only runs this tab has started; this also ends those of other tabs. */
  cancelRuns(threadId: string): Promise<void>;
  /** The number of the last event that belongs to a branch that was left, or to the past; undefined: replay all. */
  replayAfter(threadId: string): Promise<number | undefined>;
};
