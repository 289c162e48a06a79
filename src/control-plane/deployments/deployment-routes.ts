import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { deploymentStatuses, deploymentTypes, tiers } from "../desired-state/deployment.ts";
import { commaSeparated, id, pageBody, pageOf, pageQuery } from "../wire/wire-fields.ts";
import { configsOf, patchOf } from "./deployment-patch.ts";
import type { DeploymentRemoval } from "./deployment-removal-service.ts";
import { refused } from "./deployment-rules.ts";
import * as schemas from "./deployment-schemas.ts";
import type { DeploymentService } from "./deployment-service.ts";
import { toDeploymentWire } from "./deployment-wire.ts";

const tag = "Deployments (v2)";
const params = z.object({ deployment_id: id });
const one = { description: "The deployment", schema: schemas.deployment };
const read = { kind: "workspace", role: "viewer", scope: ["read", "deploy"] } as const;
const write = { kind: "workspace", role: "editor", scope: "deploy" } as const;
const remove = { kind: "workspace", role: "admin", scope: "deploy" } as const;

/** A filter that nothing could pass or fail; leaving it out of account would show what was not asked for. */
function notServed(why: string) {
  return z
    .string()
    .refine(() => false, `is not served: ${why}`)
    .optional();
}

const listQuery = pageQuery.extend({
  name: z.string().optional(),
  name_contains: z.string().optional(),
  status: z.enum(deploymentStatuses).optional(),
  remote_reconciled: z.stringbool().optional().describe("Whether a listener starts them."),
  tag_value_ids: notServed("deployments have no tags here"),
  image_version: notServed(
    "deployments are built from source, or started from the image_uri of their revision",
  ),
  deployment_type: z.enum(deploymentTypes).optional(),
  deployment_ids: commaSeparated.pipe(z.array(id)).optional(),
  url: z.string().optional(),
});

const bulkAnswer = z.object({ deleted: z.array(id), not_found: z.array(id) });

export function deploymentRoutes(service: DeploymentService, removal: DeploymentRemoval): Route[] {
  return [
    ...collectionRoutes(service, removal),
    ...oneDeploymentRoutes(service, removal),
    ...tierRoutes(service),
    ...pushTokenRoutes(service),
  ];
}

function collectionRoutes(service: DeploymentService, removal: DeploymentRemoval): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/deployments",
        operationId: "list_deployments",
        summary: "List deployments",
        description: "Newest first; a deployment whose name is exactly `name_contains` comes first.",
        tag,
        access: read,
        query: listQuery,
        responses: { 200: { description: "A page of deployments", schema: pageOf(schemas.deployment) } },
      },
      async ({ caller, query }) => {
        const views = await service.list(caller, {
          limit: query.limit,
          offset: query.offset,
          name: query.name,
          nameContains: query.name_contains,
          status: query.status,
          deploymentType: query.deployment_type,
          hasListener: query.remote_reconciled,
          ids: query.deployment_ids,
          slug: query.url === undefined ? undefined : (/\/d\/([^/]+)\/?$/.exec(query.url)?.[1] ?? query.url),
        });
        return json(200, pageBody(views.map(toDeploymentWire), query));
      },
    ),
    route(
      {
        method: "post",
        path: "/v2/deployments",
        operationId: "create_deployment",
        summary: "Create a deployment",
        description: "Its first revision is built and deployed at once, where there is something to build.",
        tag,
        access: write,
        audit: [
          {
            action: "deployment.created",
            target: { kind: "deployment", id: "answer.id", name: "body.name" },
            details: { secrets: "body.secrets[].name" },
          },
        ],
        body: schemas.createRequest,
        idempotent: true,
        responses: { 201: one },
        errors: [400, 409],
      },
      async ({ caller, body }) =>
        json(201, toDeploymentWire(await service.create(caller, { ...body, ...configsOf(body) }))),
    ),
    route(
      {
        method: "delete",
        path: "/v2/deployments",
        operationId: "delete_deployments",
        summary: "Delete several deployments",
        tag,
        access: remove,
        audit: { action: "deployment.deleted", target: { kind: "deployment", id: "query.deployment_ids" } },
        query: z.object({ deployment_ids: queryList(id) }),
        responses: {
          200: { description: "All deleted", schema: bulkAnswer },
          207: { description: "Some were not there", schema: bulkAnswer },
        },
        errors: [404],
      },
      async ({ caller, query }) => {
        const result = await removal.removeAll(caller, query.deployment_ids);
        if (result.deleted.length === 0) await service.load(caller, result.not_found[0]!);
        return json(result.not_found.length === 0 ? 200 : 207, result);
      },
    ),
    route(
      {
        method: "get",
        path: "/v2/deployments/free-count",
        operationId: "count_free_deployments",
        summary: "Count deployments of a free type",
        tag,
        access: read,
        responses: { 200: { description: "The number", schema: z.object({ count: z.number().int() }) } },
      },
      async ({ caller }) => json(200, { count: await service.countFree(caller) }),
    ),
  ];
}

function oneDeploymentRoutes(service: DeploymentService, removal: DeploymentRemoval): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/deployments/{deployment_id}",
        operationId: "get_deployment",
        summary: "Get a deployment",
        tag,
        access: read,
        params,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, toDeploymentWire(await service.get(caller, params.deployment_id))),
    ),
    route(
      {
        method: "patch",
        path: "/v2/deployments/{deployment_id}",
        operationId: "patch_deployment",
        summary: "Change a deployment",
        description:
          "A change of what runs (source, commands, secrets, resources, tier) creates a new revision.",
        tag,
        access: write,
        audit: [
          {
            action: "deployment.changed",
            target: { kind: "deployment", id: "params.deployment_id", name: "answer.name" },
          },
          {
            action: "deployment.secrets_changed",
            target: { kind: "deployment", id: "params.deployment_id", name: "answer.name" },
            details: { secrets: "body.secrets[].name" },
            when: { fact: "body.secrets" },
          },
        ],
        params,
        body: schemas.patchRequest,
        responses: { 200: one },
        errors: [400, 404],
      },
      async ({ caller, params, body }) =>
        json(200, toDeploymentWire(await service.change(caller, params.deployment_id, patchOf(body)))),
    ),
    route(
      {
        method: "delete",
        path: "/v2/deployments/{deployment_id}",
        operationId: "delete_deployment",
        summary: "Delete a deployment",
        description: "It stops serving at once and its name becomes free. Its data is purged a day later.",
        tag,
        access: remove,
        audit: { action: "deployment.deleted", target: { kind: "deployment", id: "params.deployment_id" } },
        params,
        query: z.object({
          delete_tracing_project: z.stringbool().default(false).describe("Delete its traces as well."),
          force: z.stringbool().default(false).describe("Purge a deleted deployment now."),
        }),
        responses: { 204: { description: "Deleted" } },
        errors: [400, 404],
      },
      async ({ caller, params, query }) => {
        await removal.remove(caller, params.deployment_id, {
          force: query.force,
          deleteTracingProject: query.delete_tracing_project,
        });
        return noContent();
      },
    ),
  ];
}

function tierRoutes(service: DeploymentService): Route[] {
  return [
    route(
      {
        method: "patch",
        path: "/v2/deployments/{deployment_id}/deployment-tier",
        operationId: "patch_deployment_tier",
        summary: "Change the tier of a deployment",
        tag,
        access: write,
        audit: {
          action: "deployment.changed",
          target: { kind: "deployment", id: "params.deployment_id", name: "answer.name" },
          details: { deployment_tier: "body.deployment_tier" },
        },
        params,
        body: z.object({ deployment_tier: z.enum(tiers) }),
        responses: { 200: one },
        errors: [400, 404],
      },
      async ({ caller, params, body }) =>
        json(200, toDeploymentWire(await service.change(caller, params.deployment_id, body))),
    ),
    route(
      {
        method: "patch",
        path: "/v2/deployments/{deployment_id}/resource-tiers",
        operationId: "patch_resource_tiers",
        summary: "Change the compute and database tier of a deployment",
        tag,
        access: write,
        audit: {
          action: "deployment.changed",
          target: { kind: "deployment", id: "params.deployment_id", name: "answer.name" },
        },
        params,
        body: z
          .object({ compute_tier: z.enum(tiers).nullish(), database_tier: z.enum(tiers).nullish() })
          .refine(({ compute_tier, database_tier }) => compute_tier || database_tier, {
            message: "compute_tier or database_tier is required",
          }),
        responses: { 200: one },
        errors: [400, 404],
      },
      async ({ caller, params, body }) => {
        const patch = {
          compute_tier: body.compute_tier ?? undefined,
          database_tier: body.database_tier ?? undefined,
        };
        return json(200, toDeploymentWire(await service.change(caller, params.deployment_id, patch)));
      },
    ),
  ];
}

function pushTokenRoutes(service: DeploymentService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/v2/deployments/{deployment_id}/push-token",
        operationId: "create_push_token",
        summary: "Get a token for the image registry",
        tag,
        access: write,
        audit: {
          action: "deployment.token_created",
          target: { kind: "deployment", id: "params.deployment_id" },
        },
        params,
        responses: {
          200: {
            description: "The token",
            schema: z.object({ token: z.string(), registry_url: z.string() }),
          },
        },
        errors: [400, 404],
      },
      async ({ caller, params }) => {
        const { source } = await service.load(caller, params.deployment_id);
        if (source !== "internal_docker") {
          throw refused("Push tokens are only available for 'internal_docker' source deployments.");
        }
        throw refused(
          "This server has no image registry. Deploy from source (langgraphjs deploy --remote), or from a git repository.",
        );
      },
    ),
  ];
}
