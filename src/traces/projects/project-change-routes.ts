import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { writes } from "../wire/access.ts";
import { readTime } from "../wire/wire-time.ts";
import { maxProjectNameChars } from "./project.ts";
import type { ProjectService } from "./project-service.ts";
import type { ProjectChange } from "./project-store.ts";
import { flag, project, toWire } from "./project-view.ts";

const tag = "Projects";
const id = z.guid();
const name = z.string().min(1).max(maxProjectNameChars);
const extra = z.record(z.string(), z.unknown()).nullish();
const anyTime = z.union([z.string(), z.number()]).nullish();
const params = z.object({ session_id: id });
const one = { description: "The project", schema: project };

const newProject = z.looseObject({
  id: id.nullish(),
  name: name.nullish(),
  description: z.string().nullish(),
  extra,
  start_time: anyTime,
  end_time: anyTime,
  default_dataset_id: id.nullish(),
  reference_dataset_id: id.nullish(),
  trace_tier: z.string().nullish(),
});

const projectChange = z.looseObject({
  name: name.nullish(),
  description: z.string().nullish(),
  extra,
  end_time: anyTime,
  default_dataset_id: id.nullish(),
  reference_dataset_id: id.nullish(),
  trace_tier: z.string().nullish(),
  retention_days: z.int().min(1).max(36_500).nullish(),
});

export function projectChangeRoutes(service: ProjectService): Route[] {
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
        body: newProject,
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
        method: "patch",
        path: "/api/v1/sessions/{session_id}",
        operationId: "update_project",
        summary: "Change a project",
        description:
          "`retention_days` is how long its runs are kept; null: as set for the workspace, by default for ever.",
        tag,
        access: writes,
        params,
        body: projectChange,
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
            description: "Deleted for every caller; large projects are removed in the background",
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
