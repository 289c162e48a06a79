import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { reads } from "../wire/access.ts";
import { jsonQuery, page } from "../wire/list-query.ts";
import type { ProjectService } from "./project-service.ts";
import { flag, project, toWire } from "./project-view.ts";

const tag = "Projects";
const id = z.guid();
const params = z.object({ session_id: id });
const one = { description: "The project", schema: project };

export function projectRoutes(service: ProjectService): Route[] {
  return [
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
        const stats = query.include_stats
          ? await service.stats(
              caller.workspaceId,
              found.map((each) => each.id),
            )
          : undefined;
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
        const stats = query.include_stats ? await service.stats(caller.workspaceId, [found.id]) : undefined;
        return json(200, toWire(found, stats?.get(found.id)));
      },
    ),
  ];
}
