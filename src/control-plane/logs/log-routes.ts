import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { id } from "../wire/wire-fields.ts";
import type { LogKind } from "./log.ts";
import type { LogService } from "./log-service.ts";
import { itemsAnswer, level, logsAnswer, offset, order, placeOf, readLines, time } from "./log-wire.ts";

const tag = "Logs";
const read = { kind: "workspace", role: "viewer", scope: ["read", "deploy"] } as const;

const body = z.object({
  order,
  limit: z.number().int().min(1).max(1000).default(50),
  offset,
  level: level.nullable(),
  query: z.string().nullish(),
  start_time: time,
  end_time: time,
});
const query = z.object({
  start_time: time,
  end_time: time,
  order,
  limit: z.coerce.number().int().min(1).max(1000).default(50),
  offset,
  query: z.string().optional(),
  level,
  run_id: z.string().optional(),
});
const params = z.object({ deployment_id: id });
const revisionParams = params.extend({ revision_id: id });

/** The three ways clients of different ages ask for logs. */
export function logRoutes(service: LogService): Route[] {
  return [...projectLogRoutes(service), ...deploymentLogRoutes(service), ...pagedLogRoutes(service)];
}

function projectLogRoutes(service: LogService): Route[] {
  return [
    projectRoute(
      service,
      "/v1/projects/{deployment_id}/revisions/{revision_id}/build_logs",
      "read_build_logs",
      "build",
    ),
    projectRoute(
      service,
      "/v1/projects/{deployment_id}/revisions/{revision_id}/deploy_logs",
      "read_revision_deploy_logs",
      "deploy",
    ),
    projectRoute(service, "/v1/projects/{deployment_id}/deploy_logs", "read_deploy_logs", "deploy"),
  ];
}

function projectRoute(service: LogService, path: `/${string}`, operationId: string, kind: LogKind): Route {
  return route(
    {
      method: "post",
      path,
      operationId,
      summary: `Read ${kind} logs`,
      tag,
      access: read,
      params: path.includes("revision_id") ? revisionParams : params,
      body,
      responses: { 200: { description: "Lines", schema: logsAnswer } },
      errors: [404],
    },
    async ({ caller, request, params: given, body: asked }) => {
      const place = given as { deployment_id: string; revision_id?: string };
      return json(
        200,
        await readLogsAnswer(service, { caller, request }, { ...placeOf(place), kind }, asked),
      );
    },
  );
}

function deploymentLogRoutes(service: LogService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/deployments/{deployment_id}/logs",
        operationId: "list_deployment_logs",
        summary: "Read the server logs of a deployment",
        tag,
        access: read,
        params,
        query,
        responses: { 200: { description: "Lines", schema: logsAnswer } },
        errors: [404],
      },
      async ({ caller, request, params, query }) => {
        const place = { ...placeOf(params), kind: "deploy" } as const;
        return json(200, await readLogsAnswer(service, { caller, request }, place, query));
      },
    ),
    route(
      {
        method: "get",
        path: "/v2/deployments/{deployment_id}/revisions/{revision_id}/logs",
        operationId: "list_revision_logs",
        summary: "Read the build or server logs of a revision",
        tag,
        access: read,
        params: revisionParams,
        query: query.extend({ type: z.enum(["build", "deploy"]) }),
        responses: { 200: { description: "Lines", schema: logsAnswer } },
        errors: [404],
      },
      async ({ caller, request, params, query }) => {
        const place = { ...placeOf(params), kind: query.type };
        return json(200, await readLogsAnswer(service, { caller, request }, place, query));
      },
    ),
  ];
}

async function readLogsAnswer(...asked: Parameters<typeof readLines>) {
  const { lines, next, full: _full, ...rest } = await readLines(...asked);
  return { logs: lines, next_offset: next, ...rest };
}

function pagedLogRoutes(service: LogService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/deployment-logs",
        operationId: "list_logs",
        summary: "Read logs, page by page",
        tag,
        access: read,
        query: z.object({
          deployment_id: id,
          revision_id: id.optional(),
          log_type: z.enum(["BUILD", "DEPLOY"]).default("DEPLOY"),
          start_time: time,
          end_time: time,
          sort_order: order,
          page_size: z.coerce.number().int().min(1).max(100).default(20),
          cursor: offset,
          query: z.string().optional(),
          level,
          run_id: z.string().optional(),
        }),
        responses: { 200: { description: "Lines", schema: itemsAnswer } },
        errors: [404],
      },
      async ({ caller, request, query: asked }) => {
        const kind = asked.log_type === "BUILD" ? "build" : "deploy";
        const place = { ...placeOf(asked), kind } as const;
        const { sort_order, page_size, cursor } = asked;
        const { lines, next, full, ...rest } = await readLines(service, { caller, request }, place, {
          ...asked,
          order: sort_order,
          limit: page_size,
          offset: cursor,
        });
        return json(200, { items: lines, next_cursor: full ? next : null, ...rest });
      },
    ),
  ];
}
