import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { reads } from "../wire/access.ts";
import { readRetentionDays, saveRetentionDays } from "./settings-store.ts";

const tag = "Projects";
const settings = z.object({
  id: z.guid().describe("The workspace."),
  display_name: z.string(),
  tenant_handle: z.string().nullable(),
  retention_days: z.int().nullable().describe("How long runs are kept; null: for ever."),
});
const one = { description: "The workspace's tracing settings", schema: settings };

export function settingsRoutes(options: {
  database: Database;
  workspaceName(id: string): Promise<string>;
}): Route[] {
  const { database, workspaceName } = options;
  const answer = async (workspaceId: string): Promise<Response> =>
    json(200, {
      id: workspaceId,
      display_name: await workspaceName(workspaceId),
      tenant_handle: null,
      retention_days: await readRetentionDays(database.sql, workspaceId),
    });
  return [
    route(
      {
        method: "get",
        path: "/api/v1/settings",
        operationId: "get_tracing_settings",
        summary: "Read the workspace's tracing settings",
        tag,
        access: reads,
        responses: { 200: one },
      },
      ({ caller }) => answer(caller.workspaceId),
    ),
    route(
      {
        method: "patch",
        path: "/api/v1/settings",
        operationId: "update_tracing_settings",
        summary: "Change the workspace's tracing settings",
        description: "`retention_days` applies to every project without its own.",
        tag,
        access: { kind: "workspace", role: "admin", scope: "admin" },
        audit: { action: "tracing_settings.changed" },
        body: z.object({ retention_days: z.int().min(1).max(36_500).nullable() }),
        responses: { 200: one },
      },
      async ({ caller, body }) => {
        await saveRetentionDays(database.sql, caller.workspaceId, body.retention_days);
        return answer(caller.workspaceId);
      },
    ),
  ];
}
