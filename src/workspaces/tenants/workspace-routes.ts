import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import type { VisibleWorkspace } from "../identity/workspace.ts";
import { id, name, role, time } from "../wire/fields.ts";
import { pageBody, pageOf, pageQuery } from "../wire/page.ts";
import type { WorkspaceService } from "./workspace-service.ts";

const workspace = z
  .object({
    id: id.describe("Also the value of X-Tenant-Id."),
    organization_id: id,
    name: z.string(),
    role: role.describe("The caller's role in it."),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: "Workspace" });

/** Every caller with any read access may know its workspace. */
const anyReader = ["read", "runs", "deploy", "export", "accounts"] as const;
const tag = "Workspaces";
const params = z.object({ workspace_id: id });
const body = z.object({ name });
const one = { description: "The workspace", schema: workspace };

export function workspaceRoutes(service: WorkspaceService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/workspaces",
        operationId: "list_workspaces",
        summary: "List the workspaces the credential opens",
        tag,
        access: { kind: "workspace", role: "viewer", scope: anyReader },
        query: pageQuery,
        responses: { 200: { description: "A page of workspaces, oldest first", schema: pageOf(workspace) } },
      },
      async ({ caller, query }) =>
        json(200, pageBody((await service.list(caller, query)).map(toWire), query)),
    ),
    route(
      {
        method: "post",
        path: "/v2/workspaces",
        operationId: "create_workspace",
        summary: "Create a workspace",
        description:
          "The caller becomes its first admin. Afterwards, requests with a key for every workspace must send X-Tenant-Id.",
        tag,
        access: { kind: "workspace", role: "admin", scope: "admin" },
        audit: {
          action: "workspace.created",
          target: { kind: "workspace", id: "answer.id", name: "body.name" },
        },
        body,
        idempotent: true,
        responses: { 201: one },
      },
      async ({ caller, body }) => json(201, toWire(await service.create(caller, body.name))),
    ),
    route(
      {
        method: "get",
        path: "/v2/workspaces/{workspace_id}",
        operationId: "get_workspace",
        summary: "Read a workspace",
        tag,
        access: { kind: "workspace", role: "viewer", scope: anyReader },
        params,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params }) => json(200, toWire(await service.get(caller, params.workspace_id))),
    ),
    route(
      {
        method: "patch",
        path: "/v2/workspaces/{workspace_id}",
        operationId: "update_workspace",
        summary: "Rename a workspace",
        tag,
        access: { kind: "workspace", role: "admin", scope: "admin" },
        audit: {
          action: "workspace.changed",
          target: { kind: "workspace", id: "params.workspace_id", name: "body.name" },
        },
        params,
        body,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params, body }) =>
        json(200, toWire(await service.rename(caller, params.workspace_id, body.name))),
    ),
    route(
      {
        method: "delete",
        path: "/v2/workspaces/{workspace_id}",
        operationId: "delete_workspace",
        summary: "Delete a workspace",
        description:
          "It is deleted for every caller at once. The workspace that the server was started with cannot be deleted.",
        tag,
        access: { kind: "workspace", role: "admin", scope: "admin" },
        audit: { action: "workspace.deleted", target: { kind: "workspace", id: "params.workspace_id" } },
        params,
        responses: { 204: { description: "Deleted" } },
        errors: [404, 409],
      },
      async ({ caller, params }) => {
        await service.remove(caller, params.workspace_id);
        return noContent();
      },
    ),
  ];
}

function toWire(found: VisibleWorkspace): z.input<typeof workspace> {
  return {
    id: found.id,
    organization_id: found.organization_id,
    name: found.name,
    role: found.role,
    created_at: found.created_at.toISOString(),
    updated_at: found.updated_at.toISOString(),
  };
}
