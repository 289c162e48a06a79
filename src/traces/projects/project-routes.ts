import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { feedbackSummary } from "../runs/feedback-summary.ts";
import { reads, writes } from "../wire/access.ts";
import { jsonQuery, page } from "../wire/list-query.ts";
import { readTime } from "../wire/wire-time.ts";
import { maxProjectNameChars, type Project, type ProjectStats } from "./project.ts";
import type { ProjectService } from "./project-service.ts";
import type { ProjectChange } from "./project-store.ts";

const tag = "Projects";
const id = z.guid();
const number = z.number().nullish();
/** Clients write `true`, `True` or `1`. */
const flag = z
  .string()
  .transform((text) => ["true", "1", "yes"].includes(text.toLowerCase()))
  .optional();

const project = z
  .object({
    id,
    tenant_id: id,
    name: z.string(),
    description: z.string().nullable(),
    start_time: z.string(),
    end_time: z.string().nullable(),
    extra: z.record(z.string(), z.unknown()).nullable(),
    default_dataset_id: id.nullable(),
    reference_dataset_id: id.nullable(),
    trace_tier: z.string(),
    retention_days: z.int().nullable(),
    run_count: number,
    total_tokens: number,
    prompt_tokens: number,
    completion_tokens: number,
    total_cost: number,
    prompt_cost: number,
    completion_cost: number,
    latency_p50: number,
    latency_p99: number,
    first_token_p50: number,
    first_token_p99: number,
    error_rate: number,
    streaming_rate: number,
    last_run_start_time: z.string().nullish(),
    feedback_stats: feedbackSummary.nullish(),
  })
  .meta({ id: "TraceProject" });

const name = z.string().min(1).max(maxProjectNameChars);
const anyTime = z.union([z.string(), z.number()]).nullish();
const extra = z.record(z.string(), z.unknown()).nullish();
const params = z.object({ session_id: id });
const one = { description: "The project", schema: project };

export function projectRoutes(service: ProjectService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/api/v1/sessions",
        operationId: "create_project",
        summary: "Create a project",
        description:
          "With `upsert=true` a project of that name is updated and returned. `reference_dataset_id` makes it an experiment.",
        tag,
        access: writes,
        query: z.object({ upsert: flag }),
        body: z.looseObject({
          id: id.nullish(),
          name: name.nullish(),
          description: z.string().nullish(),
          extra,
          start_time: anyTime,
          end_time: anyTime,
          default_dataset_id: id.nullish(),
          reference_dataset_id: id.nullish(),
          trace_tier: z.string().nullish(),
        }),
        responses: { 200: one },
        errors: [409],
      },
      async ({ caller, query, body }) => {
        const made = await service.create(
          {
            ...(body.id && { id: body.id }),
            workspaceId: caller.workspaceId,
            name: body.name ?? `project-${new Date().toISOString()}`,
            description: body.description,
            extra: body.extra,
            startTime: timeOf(body.start_time, "start_time"),
            endTime: timeOf(body.end_time, "end_time"),
            defaultDatasetId: body.default_dataset_id,
            referenceDatasetId: body.reference_dataset_id,
            traceTier: body.trace_tier,
          },
          { upsert: query.upsert ?? false },
        );
        return json(200, toWire(made));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/sessions",
        operationId: "list_projects",
        summary: "List projects, newest first",
        tag,
        access: reads,
        query: z.object({
          id: queryList(id).optional(),
          name: z.string().optional(),
          name_contains: z.string().optional(),
          reference_dataset: queryList(id).optional(),
          reference_free: flag,
          metadata: jsonQuery.optional(),
          include_stats: flag,
          sort_by: z.enum(["name", "start_time", "last_run_start_time"]).optional().catch(undefined),
          sort_by_desc: flag,
          ...page(100),
        }),
        responses: { 200: { description: "A page of projects", schema: z.array(project) } },
      },
      async ({ caller, query }) => {
        const found = await service.list(caller.workspaceId, {
          ids: query.id,
          name: query.name,
          nameContains: query.name_contains,
          referenceDatasets: query.reference_dataset,
          referenceFree: query.reference_free,
          metadata: query.metadata,
          sortBy: query.sort_by,
          ascending: query.sort_by_desc === false,
          limit: query.limit,
          offset: query.offset,
        });
        const stats = query.include_stats ? await service.stats(found.map((each) => each.id)) : undefined;
        return json(
          200,
          found.map((each) => toWire(each, stats?.get(each.id))),
        );
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/sessions/{session_id}",
        operationId: "get_project",
        summary: "Read a project",
        tag,
        access: reads,
        params,
        query: z.object({ include_stats: flag }),
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params, query }) => {
        const found = await service.get(caller.workspaceId, params.session_id);
        const stats = query.include_stats ? await service.stats([found.id]) : undefined;
        return json(200, toWire(found, stats?.get(found.id)));
      },
    ),
    route(
      {
        method: "patch",
        path: "/api/v1/sessions/{session_id}",
        operationId: "update_project",
        summary: "Change a project",
        description:
          "`retention_days` is how long its runs are kept; null: as set for the workspace, by default for ever.",
        tag,
        access: writes,
        params,
        body: z.looseObject({
          name: name.nullish(),
          description: z.string().nullish(),
          extra,
          end_time: anyTime,
          default_dataset_id: id.nullish(),
          reference_dataset_id: id.nullish(),
          trace_tier: z.string().nullish(),
          retention_days: z.int().min(1).max(36_500).nullish(),
        }),
        responses: { 200: one },
        errors: [404, 409],
      },
      async ({ caller, params, body }) => {
        const change: ProjectChange = {
          ...(body.name && { name: body.name }),
          ...(body.description !== undefined && { description: body.description }),
          ...(body.extra !== undefined && { extra: body.extra }),
          ...(body.end_time !== undefined && { end_time: timeOf(body.end_time, "end_time") }),
          ...(body.default_dataset_id !== undefined && { default_dataset_id: body.default_dataset_id }),
          ...(body.reference_dataset_id && { reference_dataset_id: body.reference_dataset_id }),
          ...(body.trace_tier && { trace_tier: body.trace_tier }),
          ...(body.retention_days !== undefined && { retention_days: body.retention_days }),
        };
        return json(200, toWire(await service.update(caller.workspaceId, params.session_id, change)));
      },
    ),
    route(
      {
        method: "delete",
        path: "/api/v1/sessions/{session_id}",
        operationId: "delete_project",
        summary: "Delete a project and everything traced into it",
        tag,
        access: writes,
        audit: {
          action: "tracing_project.deleted",
          target: { kind: "tracing_project", id: "params.session_id" },
        },
        params,
        responses: {
          202: {
            description: "Gone for every caller; large projects are removed in the background",
            schema: z.object({ message: z.string() }),
          },
        },
        errors: [404],
      },
      async ({ caller, params }) => {
        await service.remove(caller.workspaceId, params.session_id);
        return json(202, { message: "Project deleted" });
      },
    ),
  ];
}

function timeOf(value: string | number | null | undefined, field: string): string | null {
  if (value === undefined || value === null) return null;
  const time = readTime(value);
  if (time === null) throw invalidField(["body", field], "must be an ISO 8601 time");
  return time;
}

function toWire(found: Project, stats?: ProjectStats): z.input<typeof project> {
  const { workspace_id, ...rest } = found;
  return { ...rest, tenant_id: workspace_id, ...stats };
}
