import type * as wire from "../../../../openapi/wire.d.ts";
import { titleOf } from "../thread-title.ts";
import type {
  Assistant,
  AssistantSchemas,
  ChatServer,
  Checkpoint,
  ThreadStatus,
  ThreadSummary,
} from "./chat-server.ts";
import { httpApi, RefusedError } from "./http-api.ts";

type Thread = Pick<wire.Thread, "thread_id" | "status" | "metadata" | "state_updated_at" | "interrupts"> & {
  extracted?: { first?: unknown };
};

const fields = ["thread_id", "status", "metadata", "state_updated_at", "interrupts"] as const;
/** Kept in a thread's metadata: events up to this number belong to a branch that was left. */
const branchKey = "chat_branch_seq";

/** Any agent server: its threads are durable, and the console and every client see the same ones. */
export function agentServer(
  options: Pick<ChatServer, "id" | "name" | "kind" | "apiUrl" | "fetch">,
): ChatServer {
  const { call } = httpApi(options.apiUrl, options.fetch);
  const titles = new Titles((body) => call<Thread[]>("POST", "/threads/search", body));
  const threadPath = (id: string) => `/threads/${encodeURIComponent(id)}`;
  const patch = (id: string, metadata: Record<string, unknown>) =>
    call<void>("PATCH", threadPath(id), { metadata });

  /** The number of the thread's latest event. */
  async function latestEvent(id: string): Promise<number | undefined> {
    const command = { id: 1, method: "state.get", params: { namespace: [], keys: [] } };
    const answer = await call<{ meta?: { applied_through_seq?: number } }>(
      "POST",
      `${threadPath(id)}/commands`,
      command,
    );
    return answer.meta?.applied_through_seq;
  }

  return {
    ...options,
    streamPath: (id) => `/threads/${id}/stream/events`,
    async listThreads({ limit, include }) {
      const page = { limit, sort_by: "updated_at", sort_order: "desc", select: fields };
      const threads = await call<Thread[]>("POST", "/threads/search", page);
      if (include !== null && isUuid(include) && !threads.some(({ thread_id }) => thread_id === include)) {
        threads.push(
          ...(await call<Thread[]>("POST", "/threads/search", { ids: [include], select: fields })),
        );
      }
      return titles.add(threads);
    },
    async listAssistants() {
      const found = await call<wire.Assistant[]>("POST", "/assistants/search", { limit: 200 });
      return found.map(toAssistant).sort(byDefaultFirst);
    },
    readSchemas: (id) => call<AssistantSchemas>("GET", `/assistants/${encodeURIComponent(id)}/schemas`),
    deleteThread: (id) => call<void>("DELETE", threadPath(id)),
    renameThread: (id, title) => patch(id, { title }),
    listCheckpoints: (id, { limit, before }) =>
      call<Checkpoint[]>("POST", `${threadPath(id)}/history`, {
        limit,
        ...(before ? { before: { thread_id: id, checkpoint_ns: "", checkpoint_id: before } } : {}),
      }),
    async goBack(id, checkpointId) {
      const seq = await latestEvent(id);
      await call("POST", `${threadPath(id)}/state`, {
        values: null,
        as_node: "__copy__",
        checkpoint: { thread_id: id, checkpoint_ns: "", checkpoint_id: checkpointId },
      });
      if (seq !== undefined) await patch(id, { [branchKey]: seq });
    },
    async cancelRuns(id) {
      const runs = await call<wire.Run[]>("GET", `${threadPath(id)}/runs?limit=20`);
      const active = runs.filter(({ status }) => status === "pending" || status === "running");
      for (const { run_id } of active) {
        await call("POST", `${threadPath(id)}/runs/${run_id}/cancel?wait=0&action=interrupt`).catch(
          unlessOver,
        );
      }
    },
    async replayAfter(id) {
      try {
        const thread = await call<Thread>("GET", threadPath(id));
        // Finished runs are in the state; of an active run, everything that belongs to its branch is needed.
        if (thread.status !== "busy") return await latestEvent(id);
        const left = thread.metadata[branchKey];
        return typeof left === "number" ? left : undefined;
      } catch (error) {
        if (error instanceof RefusedError) return undefined;
        throw error;
      }
    },
  };
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/** The run has ended meanwhile. */
function unlessOver(error: unknown): void {
  if (error instanceof RefusedError && (error.status === 404 || error.status === 409)) return;
  throw error;
}

function toAssistant({ assistant_id, graph_id, name, description }: wire.Assistant): Assistant {
  return { assistant_id, graph_id, name, description: description ?? "" };
}

/** The graph `agent` is what a client gets that names none. */
function byDefaultFirst(a: Assistant, b: Assistant): number {
  const rank = ({ graph_id, name }: Assistant) =>
    (graph_id === "agent" ? 0 : 1) + (name === graph_id ? 0 : 2);
  return rank(a) - rank(b) || a.name.localeCompare(b.name);
}

type Search = (body: Record<string, unknown>) => Promise<Thread[]>;

/**
 * A thread has the title it was given, or its first words. Those are requested once: a list is read again and again,
 * and the values of threads are large.
 */
class Titles {
  readonly #search: Search;
  readonly #first = new Map<string, string>();

  constructor(search: Search) {
    this.#search = search;
  }

  async add(threads: readonly Thread[]): Promise<ThreadSummary[]> {
    const unknown = threads.filter(
      ({ thread_id, metadata }) => typeof metadata.title !== "string" && !this.#first.has(thread_id),
    );
    if (unknown.length > 0) await this.#read(unknown.map(({ thread_id }) => thread_id));
    return threads.map((thread) => this.#summary(thread));
  }

  async #read(ids: string[]): Promise<void> {
    const found = await this.#search({
      ids,
      limit: ids.length,
      select: ["thread_id"],
      extract: { first: "values.messages[0].content" },
    });
    for (const { thread_id, extracted } of found) {
      // A thread whose first run has not answered yet has no words; they come.
      const title = titleOf(extracted?.first);
      if (title !== "") this.#first.set(thread_id, title);
    }
  }

  #summary(thread: Thread): ThreadSummary {
    const { title, assistant_id, graph_id } = thread.metadata;
    const words = typeof title === "string" ? title : this.#first.get(thread.thread_id);
    return {
      thread_id: thread.thread_id,
      title: words || "Untitled",
      status: statusOf(thread),
      assistant_id: String(assistant_id ?? graph_id ?? ""),
      version: String(thread.state_updated_at),
    };
  }
}

function statusOf({ status, interrupts }: Thread): ThreadStatus {
  if (status === "error") return "failed";
  if (status !== "interrupted") return status;
  return Object.values(interrupts).flat().length > 0 ? "interrupted" : "stopped";
}
