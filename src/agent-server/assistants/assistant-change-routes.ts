import { z } from "zod";
import { json } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { metadataCondition } from "../auth/auth-filter.ts";
import { asks, assistantInPath, changesBody } from "../auth/route-rules.ts";
import { untitled } from "./assistant.ts";
import { assistantParams, flag } from "./assistant-params.ts";
import {
  assistantCreateBody,
  assistantPatchBody,
  assistantView,
  toAssistantView,
} from "./assistant-schemas.ts";
import type { AssistantService } from "./assistant-service.ts";

const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const assistant = { description: "The assistant.", schema: assistantView };
const tag = "Assistants";

/** Making, changing and deleting assistants. */
export function assistantChangeRoutes(assistants: AssistantService): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "post",
        path: "/assistants",
        operationId: "createAssistant",
        summary: "Create an assistant: a graph with a configuration",
        tag,
        access: editor,
        guard: asks("assistants", "create", changesBody),
        body: assistantCreateBody,
        responses: { 200: assistant },
        errors: [404, 409],
      },
      async ({ caller, body }) => {
        const made = await assistants.create(caller.workspaceId, {
          graph_id: body.graph_id,
          assistantId: body.assistant_id?.toLowerCase(),
          config: body.config ?? {},
          context: body.context ?? {},
          metadata: body.metadata ?? {},
          name: body.name ?? untitled,
          description: body.description ?? null,
          ifExists: body.if_exists ?? "raise",
          condition: metadataCondition(caller.rowFilter),
        });
        return json(200, toAssistantView(made));
      },
    ),
    agentRoute(
      {
        method: "patch",
        path: "/assistants/{assistant_id}",
        operationId: "patchAssistant",
        summary: "Change an assistant, as a new version",
        tag,
        access: editor,
        guard: asks("assistants", "update", { ...changesBody, ...assistantInPath }),
        params: assistantParams,
        body: assistantPatchBody,
        responses: { 200: assistant },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const changed = await assistants.change(caller.workspaceId, params.assistant_id, {
          graph_id: body.graph_id ?? undefined,
          config: body.config ?? undefined,
          context: body.context ?? undefined,
          metadata: body.metadata ?? undefined,
          name: body.name ?? undefined,
          description: body.description,
        });
        return json(200, toAssistantView(changed));
      },
    ),
    agentRoute(
      {
        method: "delete",
        path: "/assistants/{assistant_id}",
        operationId: "deleteAssistant",
        summary: "Delete an assistant with its versions and runs",
        tag,
        access: editor,
        guard: asks("assistants", "delete", assistantInPath),
        params: assistantParams,
        query: z.object({ delete_threads: flag.default(false) }),
        responses: { 200: { description: "The id of the deleted assistant.", schema: z.array(z.guid()) } },
        errors: [404, 409],
      },
      async ({ caller, params, query }) => {
        const id = await assistants.remove(caller.workspaceId, params.assistant_id, {
          deleteThreads: query.delete_threads,
          condition: metadataCondition(caller.rowFilter),
        });
        return json(200, [id]);
      },
    ),
  ];
}
