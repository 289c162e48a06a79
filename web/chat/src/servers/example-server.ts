import type { Answers, ChatThreadSummary } from "../../../../openapi/wire.d.ts";
import { connection } from "../connection.ts";
import type { ChatServer, Checkpoint } from "./chat-server.ts";
import { httpApi } from "./http-api.ts";

/** The example application: six endpoints of its own, threads in memory. */
export function exampleServer(): ChatServer {
  const apiUrl = `${location.origin}/api`;
  const { call } = httpApi(apiUrl, connection.fetch);
  const list = () => call<ChatThreadSummary[]>("GET", "/threads");
  return {
    id: "example",
    name: "Example",
    kind: "example",
    apiUrl,
    streamPath: (id) => `/threads/${id}/stream`,
    fetch: connection.fetch,
    listThreads: async () =>
      (await list()).map(({ checkpoint_id, ...thread }) => ({ ...thread, version: checkpoint_id })),
    listAssistants: () => call<Answers["listChatAssistants"]>("GET", "/assistants"),
    readSchemas: undefined,
    deleteThread: (id) => call<void>("DELETE", `/threads/${id}`),
    renameThread: undefined,
    listCheckpoints: (id, page) => call<Checkpoint[]>("POST", `/threads/${id}/history`, page),
    goBack: (id, checkpointId) =>
      call<void>("POST", `/threads/${id}/state`, { checkpoint: { checkpoint_id: checkpointId } }),
    async cancelRuns(id) {
      const runId = (await list()).find((thread) => thread.thread_id === id)?.active_run_id;
      if (runId) await call<void>("POST", `/threads/${id}/runs/${runId}/cancel?wait=0&action=interrupt`);
    },
    // It forgets the events of a branch that is left.
    replayAfter: async () => undefined,
  };
}
