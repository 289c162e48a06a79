import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { paginationHeaders } from "../../platform/http/pagination-headers.ts";
import { json } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { metadataCondition } from "../auth/auth-filter.ts";
import { asks, assistantInPath, changesBody } from "../auth/route-rules.ts";
import { type AssistantField, untitled } from "./assistant.ts";
import {
  type AssistantView,
  assistantCountBody,
  assistantCreateBody,
  assistantPatchBody,
  assistantSearchBody,
  assistantVersionView,
  assistantView,
  latestBody,
  toAssistantView,
  toVersionView,
  versionsBody,
} from "./assistant-schemas.ts";
import type { AssistantService } from "./assistant-service.ts";
import { countAssistants, searchAssistants } from "./assistant-store.ts";

export type AssistantRoutesOptions = { database: Database; assistants: AssistantService };

/** Not only a uuid: the id of a graph names its default assistant. */
export const assistantParams = z.object({ assistant_id: z.string().min(1) });
export const flag = z.enum(["0", "1", "true", "false"]).transform((text) => text === "1" || text === "true");
const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const assistant = { description: "The assistant.", schema: assistantView };
const tag = "Assistants";

export function assistantRoutes({ database, assistants }: AssistantRoutesOptions): AgentRoute[] {
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
        responses: { 200: { description: "The id of what was deleted.", schema: z.array(z.guid()) } },
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
        summary: "Make an earlier version the one in use",
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

function pick(view: AssistantView, names: AssistantField[] | null | undefined): Partial<AssistantView> {
  if (!names) return view;
  return Object.fromEntries(Object.entries(view).filter(([name]) => names.includes(name as AssistantField)));
}
