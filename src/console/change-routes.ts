import { z } from "zod";
import { type Route, route } from "../platform/http/route.ts";
import { sseResponse } from "../platform/http/server/sse.ts";
import type { ChangeFeed } from "./change-feed.ts";
import { changeTopics } from "./change-topic.ts";

const topics = z
  .preprocess((value) => (Array.isArray(value) ? value.join(",") : value), z.string().optional())
  .transform((text) => text?.split(",").map((part) => part.trim()) ?? [...changeTopics])
  .pipe(z.array(z.enum(changeTopics)))
  .transform((list) => [...new Set(list)])
  .describe(`Comma separated, from: ${changeTopics.join(", ")}. Default: all.`);

export function changeRoutes(feed: ChangeFeed): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/events",
        operationId: "stream_changes",
        summary: "Hear that something has changed",
        description:
          "Server-sent events: `ready` once listening, then `change` with `{topic}`. Hints only: ask the endpoints for what is new. A stream ends after some minutes; open it again, and read anew what is shown, since nothing is kept for those who are away.",
        tag: "Changes",
        access: { kind: "workspace", role: "viewer", scope: "read" },
        query: z.object({ topics }),
        responses: { 200: { description: "The stream", contentType: "text/event-stream" } },
        errors: [429],
      },
      ({ caller, query, connection }) =>
        sseResponse(feed.follow({ workspaceId: caller.workspaceId, userId: caller.userId }, query.topics), {
          ...connection,
          heartbeatMs: 15_000,
        }),
    ),
  ];
}
