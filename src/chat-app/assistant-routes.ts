import { z } from "zod";
import { json, type Route, route } from "../platform/http/route.ts";
import type { Assistant } from "./assistant.ts";
import { reads, tag } from "./chat-wire.ts";

const assistantShape = z.object({
  assistant_id: z.string(),
  graph_id: z.string(),
  name: z.string(),
  description: z.string(),
});

export function assistantRoutes(assistants: readonly Assistant[]): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/api/assistants",
        operationId: "listChatAssistants",
        summary: "List the assistants; any of them works on any thread",
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
