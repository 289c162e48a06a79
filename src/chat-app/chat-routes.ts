import { z } from "zod";
import { AppError } from "../platform/errors.ts";
import type { Caller } from "../platform/http/access/caller.ts";
import { json, noContent, type Route, route } from "../platform/http/route.ts";
import { sseResponse } from "../platform/http/server/sse.ts";
import type { Logger } from "../platform/logger.ts";
import type { Assistant } from "./assistant.ts";
import { CommandError } from "./command-error.ts";
import { type Envelope, envelopeShape, runCommand } from "./commands.ts";
import { isChannel } from "./protocol-event.ts";
import type { ThreadBook } from "./thread-book.ts";
import { threadStateShape, threadSummaryShape } from "./thread-state.ts";

export type ChatRoutesOptions = {
  assistants: readonly Assistant[];
  /** Each workspace has threads of its own. */
  bookOf(workspaceId: string): ThreadBook;
  identify(caller: Caller): Record<string, unknown>;
  logger: Logger;
};

const tag = "Chat application";
const reads = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const writes = { kind: "agent", role: "editor", scope: "runs" } as const;
const maxBodyBytes = 1_000_000;

const threadId = z
  .string()
  .regex(/^[A-Za-z0-9][\w.-]{0,127}$/)
  .refine((id) => id !== "constructor" && id !== "prototype");
const params = z.object({ thread_id: threadId });
const values = z.record(z.string(), z.unknown());
const checkpoint = z.looseObject({ checkpoint_id: z.guid().nullish(), checkpoint_ns: z.string().nullish() });

const stateBody = z.object({
  values: values.nullish(),
  as_node: z.string().optional(),
  checkpoint: checkpoint.nullish().describe("Go back to this checkpoint: the thread goes on from there."),
});

const historyBody = z.looseObject({
  limit: z.int().min(1).max(100).default(10),
  before: z
    .union([z.uuid(), z.looseObject({ configurable: checkpoint }), checkpoint])
    .nullish()
    .describe("Only checkpoints older than this one: the next page."),
  checkpoint: checkpoint.nullish().describe("`checkpoint_ns` names a subagent."),
});

const streamBody = z.looseObject({
  channels: z.array(z.string().refine(isChannel, "Not a channel of the streaming protocol")).min(1),
  namespaces: z.array(z.array(z.string())).optional(),
  depth: z.int().nonnegative().optional(),
  since: z.int().nonnegative().optional(),
});

const assistantShape = z.object({
  assistant_id: z.string(),
  graph_id: z.string(),
  name: z.string(),
  description: z.string(),
});
const commandAnswer = z.looseObject({ type: z.enum(["success", "error"]), id: z.int().nullable() });

/** The endpoints a streaming chat needs. The first three suffice for one thread; the rest make a sidebar of them. */
export function chatRoutes({ assistants, bookOf, identify, logger }: ChatRoutesOptions): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/api/threads/{thread_id}/commands",
        operationId: "sendChatCommand",
        summary: "Carry out a protocol command, such as run.start",
        tag,
        access: writes,
        params,
        body: z.unknown(),
        maxBodyBytes,
        responses: {
          200: { description: "Done, or the protocol's error.", schema: commandAnswer },
          400: { description: "Not a command.", schema: commandAnswer },
        },
      },
      async ({ params, body, caller }) => {
        const envelope = envelopeShape.safeParse(body);
        if (!envelope.success) return json(400, malformed(envelope.error));
        const book = bookOf(caller.workspaceId);
        const work = () => runCommand(book, params.thread_id, envelope.data, identify(caller));
        return json(200, await answer(book, params.thread_id, envelope.data, work, logger));
      },
    ),
    route(
      {
        method: "post",
        path: "/api/threads/{thread_id}/stream",
        operationId: "streamChatThread",
        summary: "Follow a thread: the events still in memory, then new ones as they happen",
        tag,
        access: reads,
        params,
        body: streamBody,
        responses: { 200: { description: "Protocol events.", contentType: "text/event-stream" } },
      },
      ({ params, body, caller, connection }) => {
        const book = bookOf(caller.workspaceId);
        const { log } = book.session(params.thread_id);
        return sseResponse((signal) => log.follow(body, body.since ?? 0, signal), {
          ...connection,
          onDisconnect: () => book.forgetUnused(params.thread_id),
        });
      },
    ),
    route(
      {
        method: "get",
        path: "/api/threads/{thread_id}/state",
        operationId: "getChatState",
        summary: "The latest state of a thread",
        tag,
        access: reads,
        params,
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
        summary: "Make a thread, write into its state, or go back to an earlier checkpoint",
        tag,
        access: writes,
        params,
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
        summary: "The threads the checkpointer knows, the latest first",
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
        params,
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
        summary: "The checkpoints of a thread, the latest first, page by page",
        tag,
        access: reads,
        params,
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
    route(
      {
        method: "post",
        path: "/api/threads/{thread_id}/runs/{run_id}/cancel",
        operationId: "cancelChatRun",
        summary: "Stop a run; the thread keeps what it has done so far",
        tag,
        access: writes,
        params: z.object({ thread_id: threadId, run_id: z.uuid() }),
        query: z.looseObject({ wait: z.enum(["0", "1"]).default("0") }),
        responses: { 202: { description: "Stopping." }, 204: { description: "Stopped." } },
        errors: [404],
      },
      async ({ params, query, caller }) => {
        const book = bookOf(caller.workspaceId);
        if (!book.cancel(params.thread_id, params.run_id)) throw noRun(params.run_id);
        if (query.wait === "0") return new Response(null, { status: 202 });
        await book.session(params.thread_id).runs.settled();
        return noContent();
      },
    ),
    route(
      {
        method: "get",
        path: "/api/assistants",
        operationId: "listChatAssistants",
        summary: "Who can be talked to; any of them on any thread",
        tag,
        access: reads,
        responses: {
          200: { description: "Assistants, the default first.", schema: z.array(assistantShape) },
        },
      },
      () =>
        json(
          200,
          assistants.map(({ assistant_id, name, description }) => ({
            assistant_id,
            graph_id: assistant_id,
            name,
            description,
          })),
        ),
    ),
  ];
}

async function answer(
  book: ThreadBook,
  threadId: string,
  command: Envelope,
  work: () => Promise<unknown>,
  logger: Logger,
) {
  const { id } = command;
  try {
    const result = await work();
    const meta = { thread_id: threadId, applied_through_seq: book.session(threadId).log.lastSeq };
    return { type: "success", id, result, meta };
  } catch (error) {
    if (error instanceof CommandError)
      return { type: "error", id, error: error.code, message: error.message };
    if (error instanceof AppError)
      return { type: "error", id, error: "invalid_argument", message: error.message };
    logger.error({ err: error, method: command.method }, "a command of the chat application failed");
    return {
      type: "error",
      id,
      error: "unknown_error",
      message: "The command failed on the server. Its log says why.",
    };
  }
}

function malformed(error: z.ZodError) {
  const problems = error.issues
    .map(({ path, message }) => `${path.join(".") || "body"}: ${message}`)
    .join("; ");
  return { type: "error", id: null, error: "invalid_argument", message: `Not a command: ${problems}.` };
}

function checkpointIdOf(before: z.infer<typeof historyBody>["before"]): string | undefined {
  if (before === null || before === undefined || typeof before === "string") return before ?? undefined;
  const found = "configurable" in before ? (before.configurable as z.infer<typeof checkpoint>) : before;
  return typeof found.checkpoint_id === "string" ? found.checkpoint_id : undefined;
}

function noRun(runId: string): AppError {
  return new AppError({
    code: "chat.no_such_run",
    kind: "not_found",
    message: `The run ${runId} is neither going on nor waiting in this thread. It may have ended already.`,
  });
}
