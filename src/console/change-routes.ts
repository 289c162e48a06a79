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
        summary: "Follow changes",
        description:
          "Server-sent events: `ready` once listening, then `change` with `{topic}`. These are hints only: read the new state from the endpoints. A stream ends after some minutes. Open it again and reload what is shown, because hints are not kept for disconnected clients.",
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
