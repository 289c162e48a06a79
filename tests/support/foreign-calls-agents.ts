import { created, type ForeignCall, type ForeignCalls, json, search } from "./foreign-call.ts";
import type { TenantIds } from "./tenant-resources.ts";

const input = { messages: [{ role: "user", content: "mine" }] };
const runBody = (ids: TenantIds) => ({
  assistant_id: ids.assistantId,
  input,
  after_seconds: 3_600,
  checkpoint_id: ids.checkpointId,
  langsmith_tracer: { example_id: ids.exampleId },
});
const withoutThread = { checkpoint_id: "a new thread has no checkpoint" };
const statelessRun = ({ assistantId, exampleId }: TenantIds) => ({
  assistant_id: assistantId,
  input,
  after_seconds: 3_600,
  langsmith_tracer: { example_id: exampleId },
});
/** What a trace refers to is a note of the caller's; nothing follows it into another workspace. */
const statelessRunOf: ForeignCall = {
  ...json(statelessRun),
  without: withoutThread,
  free: ["exampleId"],
};
/** A checkpoint is one of its thread: another thread's is not found there, and the run's error names it. */
const runOf: ForeignCall = {
  send: (ids) => ({ body: runBody(ids) }),
  free: ["checkpointId", "exampleId"],
};

const noComponents = { status: 404, why: "the built-in graphs have no components" };

/** The agent server and the chat. */
export const agentCalls: ForeignCalls = {
  // Agent server
  "POST /assistants": created((ids) => ({ graph_id: "echo", assistant_id: ids.assistantId })),
  "GET /assistants/{assistant_id}/subgraphs/{namespace}": {
    send: () => ({ params: { namespace: "inner" } }),
  },
  "DELETE /assistants/{assistant_id}": { turn: 9 },
  "PATCH /assistants/{assistant_id}": json(() => ({ name: "renamed" })),
  "POST /assistants/{assistant_id}/versions": json(() => ({})),
  "POST /assistants/{assistant_id}/latest": json(() => ({ version: 1 })),
  "POST /a2a/{assistant_id}": json(() => ({
    jsonrpc: "2.0",
    id: 1,
    method: "message/send",
    params: {
      message: { kind: "message", messageId: "1", role: "user", parts: [{ kind: "text", text: "x" }] },
    },
  })),
  "GET /.well-known/agent-card.json": { send: (ids) => ({ query: { assistant_id: ids.assistantId } }) },
  "POST /ui/{assistant_id}": { ...json(() => ({ name: "card" })), owner: noComponents },
  "GET /ui/{assistant_id}/{file}": {
    send: () => ({ params: { file: "entrypoint.js" } }),
    owner: noComponents,
  },
  "POST /threads": created((ids) => ({ thread_id: ids.threadId })),
  "POST /threads/search": search((ids) => ({ ids: [ids.threadId] })),
  "POST /threads/prune": { ...search((ids) => ({ thread_ids: [ids.threadId] })), turn: 9 },
  "DELETE /threads/{thread_id}": { turn: 10, owner: { status: 404, why: "it is pruned" } },
  "PATCH /threads/{thread_id}": json(() => ({ metadata: { by: "other" } })),
  "PATCH /threads/{thread_id}/state": json(() => ({ metadata: { by: "other" } })),
  "POST /threads/{thread_id}/state": {
    ...json((ids) => ({ values: input, as_node: "__start__", checkpoint_id: ids.checkpointId })),
    free: ["checkpointId"],
    owner: { status: 409, why: "a run of the thread has not ended" },
  },
  "GET /threads/{thread_id}/state/{checkpoint_id}": { free: ["checkpointId"] },
  "POST /threads/{thread_id}/state/checkpoint": {
    ...json((ids) => ({ checkpoint: { checkpoint_id: ids.checkpointId, checkpoint_ns: "" } })),
    free: ["checkpointId"],
  },
  "GET /threads/{thread_id}/history": {
    send: (ids) => ({ query: { before: ids.checkpointId } }),
    free: ["checkpointId"],
  },
  "POST /threads/{thread_id}/history": {
    ...json((ids) => ({ before: { configurable: { checkpoint_id: ids.checkpointId } } })),
    free: ["checkpointId"],
  },
  "GET /threads/{thread_id}/runs": { outcome: "finds nothing" },
  "GET /threads/{thread_id}/runs/{run_id}/join": { owner: "waits" },
  "POST /threads/{thread_id}/runs": runOf,
  "POST /threads/{thread_id}/runs/stream": runOf,
  "POST /threads/{thread_id}/runs/wait": { ...runOf, owner: "waits" },
  "POST /runs": statelessRunOf,
  "POST /runs/stream": statelessRunOf,
  "POST /runs/wait": { ...statelessRunOf, owner: "waits" },
  "POST /runs/batch": { ...statelessRunOf, ...json((ids) => [statelessRun(ids)]) },
  "POST /runs/cancel": search((ids) => ({ thread_id: ids.threadId, run_ids: [ids.runId] })),
  // A command on a thread that does not exist makes it, so another's id makes one's own.
  "POST /threads/{thread_id}/commands": created((ids) => ({
    id: 1,
    method: "run.start",
    params: { assistant_id: ids.assistantId, input },
  })),
  "POST /threads/{thread_id}/stream/events": json(() => ({ channels: ["values"] })),
  "POST /threads/{thread_id}/stream": json(() => ({ channels: ["values"] })),
  "POST /runs/crons": json((ids) => ({ schedule: "0 0 1 1 *", assistant_id: ids.assistantId, input })),
  "POST /threads/{thread_id}/runs/crons": json((ids) => ({
    schedule: "0 0 1 1 *",
    assistant_id: ids.assistantId,
    input,
  })),
  "POST /runs/crons/search": search((ids) => ({ assistant_id: ids.assistantId, thread_id: ids.threadId })),
  "POST /runs/crons/count": search((ids) => ({ assistant_id: ids.assistantId, thread_id: ids.threadId })),
  "PATCH /runs/crons/{cron_id}": json(() => ({ enabled: false })),
  // Chat
  "GET /api/threads/{thread_id}/state": { outcome: "finds nothing" },
  // Nobody runs: a run under way would refuse the calls that follow.
  "POST /api/threads/{thread_id}/commands": created(() => ({
    id: 1,
    method: "run.start",
    params: { assistant_id: "nobody", input },
  })),
  "POST /api/threads/{thread_id}/stream": created(() => ({ channels: ["values"] })),
  "POST /api/threads/{thread_id}/state": {
    ...created((ids) => ({ values: input, checkpoint: { checkpoint_id: ids.checkpointId } })),
    owner: { status: 404, why: "the checkpoint is one of the agent server" },
  },
  "POST /api/threads/{thread_id}/history": search((ids) => ({
    before: { configurable: { checkpoint_id: ids.checkpointId } },
    checkpoint: { checkpoint_id: ids.checkpointId },
  })),
  "POST /api/threads/{thread_id}/runs/{run_id}/cancel": {
    owner: { status: 404, why: "the run has ended" },
  },
};
