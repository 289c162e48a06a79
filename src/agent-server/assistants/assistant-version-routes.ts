import { z } from "zod";
import { json } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asks, assistantInPath } from "../auth/route-rules.ts";
import { assistantParams } from "./assistant-params.ts";
import {
  assistantVersionView,
  assistantView,
  latestBody,
  toAssistantView,
  toVersionView,
  versionsBody,
} from "./assistant-schemas.ts";
import type { AssistantService } from "./assistant-service.ts";

const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const assistant = { description: "The assistant.", schema: assistantView };
const tag = "Assistants";

/** The versions of an assistant. */
export function assistantVersionRoutes(assistants: AssistantService): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "post",
        path: "/assistants/{assistant_id}/versions",
        operationId: "listAssistantVersions",
        summary: "Versions of an assistant, newest first",
        tag,
        access: viewer,
        guard: asks("assistants", "read", assistantInPath),
        params: assistantParams,
        body: versionsBody,
        responses: { 200: { description: "Versions.", schema: z.array(assistantVersionView) } },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const versions = await assistants.versions(caller.workspaceId, params.assistant_id, body);
        return json(200, versions.map(toVersionView));
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/assistants/{assistant_id}/latest",
        operationId: "setLatestAssistantVersion",
        summary: "Use an earlier version again",
        tag,
        access: editor,
        guard: asks("assistants", "update", assistantInPath),
        params: assistantParams,
        body: latestBody,
        responses: { 200: assistant },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const { version } = body;
        const restored = await assistants.setLatest(caller.workspaceId, params.assistant_id, version);
        return json(200, toAssistantView(restored));
      },
    ),
  ];
}
