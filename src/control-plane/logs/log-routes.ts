import { z } from "zod";
import type { Caller } from "../../platform/http/access/caller.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { id } from "../wire.ts";
import { type LogKind, type LogRow, logLevels } from "./log.ts";
import type { LogQuery } from "./log-store.ts";

export type LogReader = {
  read(caller: Caller, query: LogQuery): Promise<LogRow[]>;
};

const tag = "Logs";
const read = { kind: "workspace", role: "viewer", scope: ["read", "deploy"] } as const;
const order = z.enum(["asc", "desc"]).default("asc");
const level = z
  .string()
  .transform((text) => text.toUpperCase())
  .pipe(z.enum(logLevels))
  .optional();
/** A time as text or as milliseconds since 1970; clients send both. */
const time = z
  .union([z.number(), z.string()])
  .transform((value, context) => {
    const number = typeof value === "number" || /^\d{12,}$/.test(value) ? Number(value) : Number.NaN;
    const at = new Date(Number.isNaN(number) ? value : number);
    if (!Number.isNaN(at.getTime())) return at;
    context.addIssue({ code: "custom", message: "must be a date-time" });
    return z.NEVER;
  })
  .nullish();
const offset = z
  .union([z.number().int().min(0), z.string().regex(/^\d{1,15}$/, "must be a next_offset given before")])
  .transform(Number)
  .nullish();

const line = z
  .object({
    id: z.string(),
    timestamp: z.string(),
    level: z.string(),
    message: z.string(),
    revision_id: id,
    run_id: z.string().nullable(),
  })
  .meta({ id: "LogLine" });
const logsAnswer = z.object({ logs: z.array(line), next_offset: z.string().nullable() });
const itemsAnswer = z.object({ items: z.array(line), next_cursor: z.string().nullable() });

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

type Asked = {
  order: "asc" | "desc";
  limit: number;
  offset?: number | null | undefined;
  level?: string | null | undefined;
  query?: string | null | undefined;
  start_time?: Date | null | undefined;
  end_time?: Date | null | undefined;
  run_id?: string | undefined;
};

/** The three ways clients of different ages ask for logs. */
export function logRoutes(reader: LogReader): Route[] {
  const answer = async (
    caller: Caller,
    place: { deploymentId: string; revisionId?: string; kind: LogKind },
    asked: Asked,
  ) => {
    const rows = await reader.read(caller, {
      ...place,
      order: asked.order,
      limit: asked.limit,
      after: asked.offset ?? undefined,
      level: asked.level ?? undefined,
      text: asked.query ?? undefined,
      startTime: asked.start_time ?? undefined,
      endTime: asked.end_time ?? undefined,
      runId: asked.run_id,
    });
    // Also on a short page: more may come, and the place to go on from is known.
    const last = rows.at(-1)?.id ?? asked.offset ?? null;
    return {
      rows: rows.map(toLogWire),
      next: last === null ? null : String(last),
      full: rows.length === asked.limit,
    };
  };
  const project = (path: `/${string}`, operationId: string, kind: LogKind) =>
    route(
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
      async ({ caller, params: given, body: asked }) => {
        const place = given as { deployment_id: string; revision_id?: string };
        const { rows, next } = await answer(caller, { ...placeOf(place), kind }, asked);
        return json(200, { logs: rows, next_offset: next });
      },
    );
  return [
    project("/v1/projects/{deployment_id}/revisions/{revision_id}/build_logs", "read_build_logs", "build"),
    project(
      "/v1/projects/{deployment_id}/revisions/{revision_id}/deploy_logs",
      "read_revision_deploy_logs",
      "deploy",
    ),
    project("/v1/projects/{deployment_id}/deploy_logs", "read_deploy_logs", "deploy"),
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
      async ({ caller, params, query }) => {
        const { rows, next } = await answer(
          caller,
          { deploymentId: params.deployment_id, kind: "deploy" },
          query,
        );
        return json(200, { logs: rows, next_offset: next });
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
      async ({ caller, params, query }) => {
        const { rows, next } = await answer(caller, { ...placeOf(params), kind: query.type }, query);
        return json(200, { logs: rows, next_offset: next });
      },
    ),
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
      async ({ caller, query: asked }) => {
        const kind = asked.log_type === "BUILD" ? "build" : "deploy";
        const place = { ...placeOf(asked), kind } as const;
        const { sort_order, page_size, cursor } = asked;
        const { rows, next, full } = await answer(caller, place, {
          ...asked,
          order: sort_order,
          limit: page_size,
          offset: cursor,
        });
        return json(200, { items: rows, next_cursor: full ? next : null });
      },
    ),
  ];
}

function placeOf(given: { deployment_id: string; revision_id?: string | undefined }) {
  const revision = given.revision_id === undefined ? {} : { revisionId: given.revision_id };
  return { deploymentId: given.deployment_id, ...revision };
}

export function toLogWire(row: LogRow): z.input<typeof line> {
  return {
    id: String(row.id),
    timestamp: row.at.toISOString(),
    level: row.level,
    message: row.message,
    revision_id: row.revision_id,
    run_id: row.run_id,
  };
}
