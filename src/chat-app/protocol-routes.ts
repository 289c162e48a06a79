import { z } from "zod";
import { AppError } from "../platform/errors.ts";
import { json, noContent, type Route, route } from "../platform/http/route.ts";
import { sseResponse } from "../platform/http/server/sse.ts";
import type { Logger } from "../platform/logger.ts";
import { type CommandEnvelope, toCommand } from "../platform/streaming-protocol/command.ts";
import { filterFields, sinceField } from "../platform/streaming-protocol/filter-fields.ts";
import { errorEnvelope, ProtocolError } from "../platform/streaming-protocol/protocol-error.ts";
import type { EventFilter } from "../platform/streaming-protocol/subscription-filter.ts";
import {
  type BookOf,
  type Identify,
  maxBodyBytes,
  reads,
  tag,
  threadId,
  threadParams,
  writes,
} from "./chat-wire.ts";
import { runCommand } from "./commands.ts";
import type { ThreadBook } from "./thread-book.ts";

const streamBody = z.looseObject({ ...filterFields, since: sinceField });
const commandAnswer = z.looseObject({ type: z.enum(["success", "error"]), id: z.int().nullable() });

/** The streaming protocol of a thread. With its state these suffice for a chat; the other routes make a sidebar of them. */
export function protocolRoutes(options: { bookOf: BookOf; identify: Identify; logger: Logger }): Route[] {
  const { bookOf, identify, logger } = options;

  return [
    route(
      {
        method: "post",
        path: "/api/threads/{thread_id}/commands",
        operationId: "sendChatCommand",
        summary: "Carry out a protocol command, such as run.start",
        tag,
        access: writes,
        params: threadParams,
        body: z.unknown(),
        maxBodyBytes,
        responses: {
          200: { description: "The result, or the protocol's error.", schema: commandAnswer },
          400: { description: "Not a command.", schema: commandAnswer },
        },
      },
      async ({ params, body, caller }) => {
        const read = toCommand(body);
        if ("refusal" in read) return json(400, read.refusal);
        const book = bookOf(caller.workspaceId);
        const work = () => runCommand(book, params.thread_id, read.command, identify(caller));
        return json(200, await answer(book, params.thread_id, read.command, work, logger));
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
        params: threadParams,
        body: streamBody,
        responses: { 200: { description: "Protocol events.", contentType: "text/event-stream" } },
      },
      ({ params, body, caller, connection }) => {
        const book = bookOf(caller.workspaceId);
        const { log } = book.session(params.thread_id);
        return sseResponse((signal) => log.follow(filterOf(body), body.since ?? 0, signal), {
          ...connection,
          onDisconnect: () => book.forgetUnused(params.thread_id),
        });
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
  ];
}

/** JSON knows null where a filter has nothing. */
function filterOf({ channels, namespaces, depth }: z.infer<typeof streamBody>): EventFilter {
  return { channels, namespaces: namespaces ?? undefined, depth: depth ?? undefined };
}

async function answer(
  book: ThreadBook,
  threadId: string,
  command: CommandEnvelope,
  work: () => Promise<unknown>,
  logger: Logger,
) {
  const { id } = command;
  try {
    const result = await work();
    const meta = { thread_id: threadId, applied_through_seq: book.session(threadId).log.lastSeq };
    return { type: "success", id, result, meta };
  } catch (error) {
    if (error instanceof ProtocolError) return errorEnvelope(id, error);
    if (error instanceof AppError)
      return errorEnvelope(id, new ProtocolError("invalid_argument", error.message));
    logger.error({ err: error, method: command.method }, "a command of the chat application failed");
    return errorEnvelope(
      id,
      new ProtocolError("unknown_error", "The command failed on the server. Its log says why."),
    );
  }
}

function noRun(runId: string): AppError {
  return new AppError({
    code: "chat.no_such_run",
    kind: "not_found",
    message: `The run ${runId} is neither running nor waiting in this thread. It may have ended already.`,
  });
}
