import { z } from "zod";
import { json, noContent, type Route, route } from "../platform/http/route.ts";
import { type BookOf, maxBodyBytes, reads, tag, threadParams, writes } from "./chat-wire.ts";
import { threadStateShape, threadSummaryShape } from "./thread-state.ts";

const values = z.record(z.string(), z.unknown());
const checkpoint = z.looseObject({ checkpoint_id: z.guid().nullish(), checkpoint_ns: z.string().nullish() });
const stateBody = z.object({
  values: values.nullish(),
  as_node: z.string().optional(),
  checkpoint: checkpoint.nullish().describe("Go back to this checkpoint: the thread continues from there."),
});
const historyBody = z.looseObject({
  limit: z.int().min(1).max(100).default(10),
  before: z
    .union([z.uuid(), z.looseObject({ configurable: checkpoint }), checkpoint])
    .nullish()
    .describe("Only checkpoints older than this one: the next page."),
  checkpoint: checkpoint.nullish().describe("`checkpoint_ns` names a subagent."),
});

/** Threads and their states, as a page shows them. */
export function threadRoutes(bookOf: BookOf): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/api/threads/{thread_id}/state",
        operationId: "getChatState",
        summary: "The latest state of a thread",
        tag,
        access: reads,
        params: threadParams,
        responses: { 200: { description: "The state.", schema: threadStateShape } },
        errors: [404],
      },
      async ({ params, caller }) => json(200, await bookOf(caller.workspaceId).state(params.thread_id)),
    ),
    route(
      {
        method: "post",
        path: "/api/threads/{thread_id}/state",
        operationId: "updateChatState",
        summary: "Create a thread, write to its state, or go back to an earlier checkpoint",
        tag,
        access: writes,
        params: threadParams,
        body: stateBody,
        maxBodyBytes,
        responses: { 200: { description: "The new state.", schema: threadStateShape } },
        errors: [400, 404, 409],
      },
      async ({ params, body, caller }) => {
        const at = body.checkpoint?.checkpoint_id;
        const change = {
          values: body.values ?? null,
          ...(body.as_node ? { asNode: body.as_node } : {}),
          ...(at ? { checkpointId: at } : {}),
        };
        return json(200, await bookOf(caller.workspaceId).update(params.thread_id, change));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/threads",
        operationId: "listChatThreads",
        summary: "List the threads of the checkpointer, latest first",
        tag,
        access: reads,
        responses: { 200: { description: "Threads.", schema: z.array(threadSummaryShape) } },
      },
      async ({ caller }) => json(200, await bookOf(caller.workspaceId).list()),
    ),
    route(
      {
        method: "delete",
        path: "/api/threads/{thread_id}",
        operationId: "deleteChatThread",
        summary: "Delete a thread: its session and its checkpoints",
        tag,
        access: writes,
        params: threadParams,
        responses: { 204: { description: "Gone." } },
        errors: [404],
      },
      async ({ params, caller }) => {
        await bookOf(caller.workspaceId).remove(params.thread_id);
        return noContent();
      },
    ),
    route(
      {
        method: "post",
        path: "/api/threads/{thread_id}/history",
        operationId: "listChatHistory",
        summary: "List the checkpoints of a thread, latest first, in pages",
        tag,
        access: reads,
        params: threadParams,
        body: historyBody,
        responses: { 200: { description: "States.", schema: z.array(threadStateShape) } },
        errors: [404],
      },
      async ({ params, body, caller }) => {
        const before = checkpointIdOf(body.before);
        const page = {
          limit: body.limit,
          ...(before ? { before } : {}),
          ...(body.checkpoint?.checkpoint_ns ? { namespace: body.checkpoint.checkpoint_ns } : {}),
        };
        return json(200, await bookOf(caller.workspaceId).history(params.thread_id, page));
      },
    ),
  ];
}

function checkpointIdOf(before: z.infer<typeof historyBody>["before"]): string | undefined {
  if (before === null || before === undefined || typeof before === "string") return before ?? undefined;
  const found = "configurable" in before ? (before.configurable as z.infer<typeof checkpoint>) : before;
  return typeof found.checkpoint_id === "string" ? found.checkpoint_id : undefined;
}
