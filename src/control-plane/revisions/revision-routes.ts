import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { sseResponse } from "../../platform/http/server/sse.ts";
import { patchOf } from "../deployments/deployment-patch.ts";
import * as schemas from "../deployments/deployment-schemas.ts";
import { toDeploymentWire } from "../deployments/deployment-wire.ts";
import { revisionStatuses } from "../desired-state/revision.ts";
import { commaSeparated, id, pageBody, pageOf, pageQuery } from "../wire/wire-fields.ts";
import type { RevisionFeed } from "./revision-feed.ts";
import type { RevisionService } from "./revision-service.ts";
import { revision, toRevisionWire } from "./revision-wire.ts";

const tag = "Revisions (v2)";
const params = z.object({ deployment_id: id });
const oneParams = params.extend({ revision_id: id });
const one = { description: "The revision", schema: revision };
const read = { kind: "workspace", role: "viewer", scope: ["read", "deploy"] } as const;
const write = { kind: "workspace", role: "editor", scope: "deploy" } as const;

export function revisionRoutes(service: RevisionService, feed: RevisionFeed): Route[] {
  return [
    ...collectionRoutes(service),
    ...oneRevisionRoutes(service),
    interruption(service, "interruption", false),
    interruption(service, "interrupt", true),
    ...feedRoutes(service, feed),
  ];
}

function collectionRoutes(service: RevisionService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/deployments/{deployment_id}/revisions",
        operationId: "list_revisions",
        summary: "List the revisions of a deployment, newest first",
        tag,
        access: read,
        params,
        query: pageQuery.extend({
          status: commaSeparated.pipe(z.array(z.enum(revisionStatuses))).optional(),
          remote_reconciled: z.stringbool().optional().describe("Whether a listener starts them."),
        }),
        responses: { 200: { description: "A page of revisions", schema: pageOf(revision) } },
        errors: [404],
      },
      async ({ caller, params, query }) => {
        const filter = {
          limit: query.limit,
          offset: query.offset,
          statuses: query.status,
          hasListener: query.remote_reconciled,
        };
        const views = await service.list(caller, params.deployment_id, filter);
        return json(200, pageBody(views.map(toRevisionWire), query));
      },
    ),
    route(
      {
        method: "post",
        path: "/v2/deployments/{deployment_id}/revisions",
        operationId: "create_revision",
        summary: "Create a revision",
        description: "Always makes one, also where nothing has changed: the branch may have moved.",
        tag,
        access: write,
        audit: [
          {
            action: "revision.created",
            target: { kind: "deployment", id: "params.deployment_id" },
            details: { revision_id: "answer.id" },
          },
          {
            action: "deployment.secrets_changed",
            target: { kind: "deployment", id: "params.deployment_id" },
            details: { secrets: "body.secrets[].name" },
            when: { fact: "body.secrets" },
          },
        ],
        params,
        body: schemas.revisionRequest,
        idempotent: true,
        responses: { 201: one },
        errors: [400, 404],
      },
      async ({ caller, params, body }) =>
        json(201, toRevisionWire(await service.create(caller, params.deployment_id, patchOf(body)))),
    ),
  ];
}

function oneRevisionRoutes(service: RevisionService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/deployments/{deployment_id}/revisions/{revision_id}",
        operationId: "get_revision",
        summary: "Get a revision",
        tag,
        access: read,
        params: oneParams,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, toRevisionWire(await service.get(caller, params.deployment_id, params.revision_id))),
    ),
    route(
      {
        method: "post",
        path: "/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy",
        operationId: "redeploy_revision",
        summary: "Deploy an earlier revision again",
        description:
          "Creates a new revision with the old one's source, commit, commands and secrets; nothing is built twice.",
        tag,
        access: write,
        audit: {
          action: "revision.redeployed",
          target: { kind: "revision", id: "params.revision_id" },
          details: { deployment_id: "params.deployment_id" },
        },
        params: oneParams,
        idempotent: true,
        responses: { 200: { description: "The deployment", schema: schemas.deployment } },
        errors: [400, 404],
      },
      async ({ caller, params }) =>
        json(200, toDeploymentWire(await service.redeploy(caller, params.deployment_id, params.revision_id))),
    ),
  ];
}

function interruption(service: RevisionService, path: "interruption" | "interrupt", hidden: boolean): Route {
  return route(
    {
      method: "post",
      path: `/v2/deployments/{deployment_id}/revisions/{revision_id}/${path}`,
      operationId: `${path}_revision`,
      summary: "Interrupt a revision in progress",
      tag,
      access: write,
      audit: {
        action: "revision.interrupted",
        target: { kind: "revision", id: "params.revision_id" },
        details: { deployment_id: "params.deployment_id" },
      },
      params: oneParams,
      responses: { 200: one },
      errors: [404, 409],
      hidden,
    },
    async ({ caller, params }) =>
      json(200, toRevisionWire(await service.interrupt(caller, params.deployment_id, params.revision_id))),
  );
}

function feedRoutes(service: RevisionService, feed: RevisionFeed): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/deployments/{deployment_id}/revisions/{revision_id}/events",
        operationId: "stream_revision_events",
        summary: "Follow a revision",
        description:
          "Server-sent events `status` (the revision), `event` (its timeline) and `log` (build and server lines), from the beginning or after `Last-Event-ID`; ends when the revision is done.",
        tag,
        access: read,
        params: oneParams,
        responses: { 200: { description: "The stream", contentType: "text/event-stream" } },
        errors: [404],
      },
      async ({ caller, params, request, connection }) => {
        const { deployment_id: deploymentId, revision_id: revisionId } = params;
        await service.load(caller, deploymentId, revisionId);
        const seen = request.headers.get("last-event-id") ?? undefined;
        return sseResponse(
          (signal) => feed.follow(caller, { deploymentId, revisionId }, seen, signal),
          connection,
        );
      },
    ),
  ];
}
