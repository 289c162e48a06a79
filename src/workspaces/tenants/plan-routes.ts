import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { editions, plans } from "../identity/workspace.ts";
import { id } from "../wire/fields.ts";
import type { PlanService, PlanView } from "./plan-service.ts";
import type { WorkspaceService } from "./workspace-service.ts";

const tag = "Workspaces";
const anyReader = ["read", "runs", "deploy", "export", "accounts"] as const;
const plan = z.enum(plans).describe("free, plus or enterprise.");
const features = z
  .object({ bulk_export: z.boolean() })
  .describe(
    "The features of the plan. Plans apply only in the cloud edition; a self-hosted installation has everything.",
  );
const organizationPlan = z.object({ organization_id: id, plan, edition: z.enum(editions), features });
const workspaceInfo = z.object({
  id,
  name: z.string(),
  organization_id: id,
  plan,
  edition: z.enum(editions),
  features,
});
const organization = z.object({ organization_id: id });

/** What an organization has paid for. */
export function planRoutes(service: PlanService, workspaces: Pick<WorkspaceService, "get">): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/organizations/{organization_id}/plan",
        operationId: "get_organization_plan",
        summary: "Read an organization's plan",
        description: "Everybody may read their own; the operator of the installation may read any.",
        tag,
        access: { kind: "workspace", role: "viewer", scope: anyReader },
        params: organization,
        responses: { 200: { description: "The plan", schema: organizationPlan } },
        errors: [404],
      },
      async ({ caller, params }) => json(200, toWire(await service.read(caller, params.organization_id))),
    ),
    route(
      {
        method: "put",
        path: "/v2/organizations/{organization_id}/plan",
        operationId: "set_organization_plan",
        summary: "Set an organization's plan",
        description:
          "Only for the operator of the installation: an administrator of its first workspace, with their own credential. It applies from the next request on.",
        tag,
        access: { kind: "workspace", role: "admin", scope: "admin" },
        audit: {
          action: "organization.plan_changed",
          target: { kind: "organization", id: "params.organization_id" },
          details: { plan: "body.plan" },
        },
        params: organization,
        body: z.object({ plan }),
        responses: { 200: { description: "The plan", schema: organizationPlan } },
        errors: [403, 404],
      },
      async ({ caller, params, body }) =>
        json(200, toWire(await service.change(caller, params.organization_id, body.plan))),
    ),
    route(
      {
        method: "get",
        path: "/v2/workspaces/{workspace_id}/info",
        operationId: "get_workspace_info",
        summary: "The plan of a workspace and its features",
        tag,
        access: { kind: "workspace", role: "viewer", scope: anyReader },
        params: z.object({ workspace_id: id }),
        responses: { 200: { description: "The facts", schema: workspaceInfo } },
        errors: [404],
      },
      async ({ caller, params }) => {
        const { id, name } = await workspaces.get(caller, params.workspace_id);
        return json(200, { id, name, ...toWire(await service.ofWorkspace(id)) });
      },
    ),
  ];
}

function toWire({ organizationId, plan, edition, bulkExport }: PlanView): z.input<typeof organizationPlan> {
  return { organization_id: organizationId, plan, edition, features: { bulk_export: bulkExport } };
}
