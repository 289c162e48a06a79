import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { invalidField } from "../../platform/errors.ts";
import { json } from "../../platform/http/route.ts";
import { sseResponse } from "../../platform/http/server/sse.ts";
import { requireJsonType } from "../../platform/http/validation/body.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { readCommand } from "../../platform/streaming-protocol/command.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asks, threadInPath } from "../auth/route-rules.ts";
import { logEndOf } from "../delivery/event-store.ts";
import type { ThreadFeed } from "../delivery/thread-feed.ts";
import { type ThreadStreamMode, threadFrames, threadStreamModes } from "../delivery/thread-stream.ts";
import { threadNotFound } from "../threads/thread.ts";
import { findThreadById } from "../threads/thread-store.ts";
import { eventStreamBody } from "./commands.ts";
import type { EventReader } from "./event-reader.ts";
import { eventFrames } from "./event-stream.ts";
import { commandAnswer, errorAnswer } from "./protocol-schemas.ts";
import type { ProtocolService } from "./protocol-service.ts";
import type { CallerOf } from "./run-commands.ts";
import type { ThreadAccess } from "./thread-access.ts";

export type ProtocolRoutesOptions = {
  database: Database;
  feed: ThreadFeed;
  service: ProtocolService;
  reader: EventReader;
  access: ThreadAccess;
  callerOf: CallerOf;
};

const params = z.object({ thread_id: z.guid().transform((id) => id.toLowerCase()) });
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const sse = { description: "Events of the thread.", contentType: "text/event-stream" };
const tag = "Streaming protocol";

/** Commands and events of the streaming protocol over HTTP, and the older stream over all runs of a thread. */
export function protocolRoutes(options: ProtocolRoutesOptions): AgentRoute[] {
  return [
    commandRoute(options),
    eventRoute(options, "/threads/{thread_id}/stream/events", "streamThreadEvents"),
    eventRoute(options, "/threads/{thread_id}/stream", "streamThreadEventsShort"),
    joinRoute(options),
  ];
}

function commandRoute({ service, callerOf }: ProtocolRoutesOptions): AgentRoute {
  return agentRoute(
    {
      method: "post",
      path: "/threads/{thread_id}/commands",
      operationId: "sendThreadCommand",
      summary: "Send a command of the streaming protocol",
      description:
        "The body is `{id, method, params}`. Responds 200 for success and for protocol errors alike. The first run.start creates the thread.",
      tag,
      access: viewer,
      guard: asks("threads", "read", threadInPath),
      params,
      // A body that is no JSON is a malformed envelope like any other: 400, not 422.
      rawBody: true,
      responses: {
        200: { description: "The response to the command.", schema: commandAnswer },
        400: { description: "The envelope is malformed.", schema: errorAnswer },
      },
    },
    async ({ caller, keyed, params: { thread_id: threadId }, request }) => {
      requireJsonType(request.headers.get("content-type"), keyed);
      const read = readCommand(await request.text());
      if ("refusal" in read) return json(400, read.refusal);
      const context = { ...callerOf(caller, request.headers), threadId };
      return json(200, await service.execute(context, read.command));
    },
  );
}

function eventRoute(
  { access, reader, feed }: ProtocolRoutesOptions,
  path: `/${string}`,
  operationId: string,
): AgentRoute {
  return agentRoute(
    {
      method: "post",
      path,
      operationId,
      summary: "Subscribe to events of the streaming protocol",
      description:
        "Replays the events in the thread's log, then continues live until the client disconnects. Can be opened before anything ran. If `since` refers to events that are no longer kept, the first frame is an error that says so.",
      tag,
      access: viewer,
      guard: asks("threads", "read", threadInPath),
      params,
      body: eventStreamBody,
      responses: { 200: sse },
      errors: [404],
    },
    async ({ caller, params: { thread_id: threadId }, body, connection }) => {
      const thread = await access.open(caller, threadId);
      const filter = {
        channels: body.channels,
        namespaces: body.namespaces ?? undefined,
        depth: body.depth ?? undefined,
      };
      const since = body.since ?? undefined;
      return sseResponse(
        (signal) => eventFrames({ reader, caller, threadId, filter, since, thread, signal }),
        { ...connection, budget: feed.budget },
      );
    },
  );
}

function joinRoute({ database, feed }: ProtocolRoutesOptions): AgentRoute {
  return agentRoute(
    {
      method: "get",
      path: "/threads/{thread_id}/stream",
      operationId: "joinThreadStream",
      summary: "Stream everything that runs on a thread",
      description:
        "Continues after `Last-Event-ID`, or from the beginning for `-`; without the header, only new events.",
      tag,
      access: viewer,
      guard: asks("threads", "read", threadInPath),
      params,
      query: z.object({
        stream_modes: queryList(z.string()).optional(),
        stream_mode: queryList(z.string()).optional(),
      }),
      responses: { 200: sse },
      errors: [404],
    },
    async ({ caller, params: { thread_id: threadId }, query, request, connection }) => {
      const find = () => findThreadById(database, caller.workspaceId, threadId);
      if (!(await find())) throw threadNotFound(threadId);
      const modes = parseThreadModes([...(query.stream_modes ?? []), ...(query.stream_mode ?? [])]);
      const afterSeq = await startOf(database, threadId, request.headers.get("last-event-id") ?? undefined);
      const values = async () => (await find())?.values_json ?? "{}";
      return sseResponse((signal) => threadFrames({ feed, threadId, afterSeq, modes, signal, values }), {
        headers: { location: `/threads/${threadId}/stream` },
        budget: feed.budget,
        ...connection,
      });
    },
  );
}

async function startOf(
  database: Database,
  threadId: string,
  lastEventId: string | undefined,
): Promise<number> {
  if (lastEventId === "-" || lastEventId === "-1") return 0;
  if (lastEventId !== undefined && /^\d{1,15}$/.test(lastEventId)) return Number(lastEventId);
  return (await logEndOf(database, threadId)).seq;
}

function parseThreadModes(texts: string[]): ThreadStreamMode[] {
  const names = texts.flatMap((text) => text.split(",")).filter(Boolean);
  if (names.length === 0) return ["run_modes"];
  return names.map((name) => {
    const mode = threadStreamModes.find((known) => known === name);
    if (mode) return mode;
    const allowed = threadStreamModes.join(", ");
    throw invalidField(["query", "stream_modes"], `stream_modes must be one of ${allowed}`, name);
  });
}
