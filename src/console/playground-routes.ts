import { z } from "zod";
import { type Route, route } from "../platform/http/route.ts";
import { sseResponse } from "../platform/http/server/sse.ts";
import type { Playground } from "./playground-service.ts";

const maxBodyBytes = 4 * 1024 * 1024;

const body = z
  .object({
    model: z
      .string()
      .min(1)
      .max(200)
      .describe("`offline`, a provider, or `provider/model`, as `model_name` of the built-in agent."),
    messages: z
      .array(z.looseObject({ content: z.unknown() }))
      .min(1)
      .max(500),
    temperature: z.number().min(0).max(2).nullish(),
    max_tokens: z.int().min(1).max(100_000).nullish(),
    tools: z.array(z.looseObject({})).max(128).nullish().describe("In the format of OpenAI's API."),
    source_run_id: z.guid().nullish().describe("The run it was copied from."),
  })
  .meta({ id: "PlaygroundCall" });

/** A model asked by hand, with the workspace's own keys. */
export function playgroundRoutes(playground: Playground): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/v2/playground/stream",
        operationId: "stream_playground",
        summary: "Call a model from the playground",
        description:
          "Uses the workspace's key for the provider. Server-sent events: `started` with the id of its trace, `delta` with `{text}`, then `message` or `error`. Traced in the project `playground`. Ends after two minutes or 200,000 characters.",
        tag: "Playground",
        access: { kind: "workspace", role: "editor", scope: "runs" },
        body,
        maxBodyBytes,
        responses: { 200: { description: "The stream", contentType: "text/event-stream" } },
        errors: [422],
      },
      async ({ caller, body, connection }) => {
        const frames = await playground.run({
          workspaceId: caller.workspaceId,
          userId: caller.userId,
          modelName: body.model,
          messages: body.messages,
          temperature: body.temperature ?? undefined,
          maxTokens: body.max_tokens ?? undefined,
          tools: body.tools ?? undefined,
          sourceRunId: body.source_run_id ?? undefined,
        });
        return sseResponse(frames, { ...connection, heartbeatMs: 15_000 });
      },
    ),
  ];
}
