import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { paginationHeaders } from "../../platform/http/pagination-headers.ts";
import { json } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { metadataCondition } from "../auth/auth-filter.ts";
import { asks, assistantInPath, changesBody } from "../auth/route-rules.ts";
import type { AssistantField } from "./assistant.ts";
import { assistantParams } from "./assistant-params.ts";
import {
  type AssistantView,
  assistantCountBody,
  assistantSearchBody,
  assistantView,
  toAssistantView,
} from "./assistant-schemas.ts";
import type { AssistantService } from "./assistant-service.ts";
import { countAssistants, searchAssistants } from "./assistant-store.ts";

export type AssistantRoutesOptions = { database: Database; assistants: AssistantService };
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const assistant = { description: "The assistant.", schema: assistantView };
const tag = "Assistants";

/** Finding and reading assistants. */
export function assistantRoutes({ database, assistants }: AssistantRoutesOptions): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "post",
        path: "/assistants/search",
        operationId: "searchAssistants",
        summary: "Find assistants",
        tag,
        access: viewer,
        guard: asks("assistants", "search", changesBody),
        body: assistantSearchBody,
        responses: { 200: { description: "Assistants.", schema: z.array(assistantView.partial()) } },
      },
      async ({ caller, body }) => {
        await assistants.ensureDefaults(caller.workspaceId);
        const condition = metadataCondition(caller.rowFilter);
        const filter = { ...body, workspaceId: caller.workspaceId, condition };
        const { rows, total } = await searchAssistants(database.sql, filter, body);
        return json(
          200,
          rows.map((row) => pick(toAssistantView(row), body.select)),
          paginationHeaders(body, rows.length, total),
        );
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/assistants/count",
        operationId: "countAssistants",
        summary: "How many assistants match",
        tag,
        access: viewer,
        guard: asks("assistants", "search", changesBody),
        body: assistantCountBody,
        responses: { 200: { description: "The number.", schema: z.int() } },
      },
      async ({ caller, body }) => {
        await assistants.ensureDefaults(caller.workspaceId);
        const condition = metadataCondition(caller.rowFilter);
        const filter = { ...body, workspaceId: caller.workspaceId, condition };
        return json(200, await countAssistants(database.sql, filter));
      },
    ),
    agentRoute(
      {
        method: "get",
        path: "/assistants/{assistant_id}",
        operationId: "getAssistant",
        summary: "One assistant",
        tag,
        access: viewer,
        guard: asks("assistants", "read", assistantInPath),
        params: assistantParams,
        responses: { 200: assistant },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, toAssistantView(await assistants.get(caller.workspaceId, params.assistant_id))),
    ),
  ];
}

function pick(view: AssistantView, names: AssistantField[] | null | undefined): Partial<AssistantView> {
  if (!names) return view;
  return Object.fromEntries(Object.entries(view).filter(([name]) => names.includes(name as AssistantField)));
}
