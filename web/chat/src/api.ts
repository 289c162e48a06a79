import type { Answers, ChatCheckpoint, ChatThreadState, ChatThreadSummary } from "../../../openapi/wire.d.ts";
import { connection } from "./connection.ts";

export const apiUrl = `${location.origin}/api`;

export type ThreadSummary = ChatThreadSummary;
export type Assistant = Answers["listChatAssistants"][number];

/** A state as its history lists it: there it has a place, and its values are those of a chat. */
export type Checkpoint = Omit<ChatThreadState, "values" | "metadata" | "checkpoint"> & {
  values: { messages?: unknown[] };
  metadata: { step?: number; source?: string; assistant_id?: string };
  checkpoint: ChatCheckpoint;
};

/** A request the server refused, with its message. */
export class RefusedError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const listThreads = () => call<ThreadSummary[]>("GET", "/threads");

export const listAssistants = () => call<Assistant[]>("GET", "/assistants");

export const deleteThread = (id: string) => call<void>("DELETE", `/threads/${id}`);

/** Newest first. */
export const listCheckpoints = (id: string, page: { limit: number; before?: string }) =>
  call<Checkpoint[]>("POST", `/threads/${id}/history`, page);

/** The thread goes on from here; what came later stays in its history. */
export const goBack = (id: string, checkpointId: string) =>
  call<Checkpoint>("POST", `/threads/${id}/state`, { checkpoint: { checkpoint_id: checkpointId } });

/**
 * `stream.stop()` knows only runs this tab has started. After a reload, or in a second tab, the list knows which run it
 * is.
 */
export async function cancelRun(id: string): Promise<void> {
  const runId = (await listThreads()).find((thread) => thread.thread_id === id)?.active_run_id;
  if (runId) await call<void>("POST", `/threads/${id}/runs/${runId}/cancel?wait=0&action=interrupt`);
}

async function call<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await connection.fetch(`${apiUrl}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  const text = await response.text();
  if (!response.ok) throw new RefusedError(response.status, refusal(text, response));
  return (text === "" ? undefined : JSON.parse(text)) as Answer;
}

function refusal(text: string, response: Response): string {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    if (typeof detail === "string") return detail;
  } catch {
    // Not from our server; its status has to do.
  }
  return `The server answered ${response.status} ${response.statusText}.`;
}
