import { z } from "zod";
import { json, jsonText, type Route, route } from "../../platform/http/route.ts";
import { runView } from "../query/run-query-schemas.ts";
import { reads } from "../wire/access.ts";
import { page } from "../wire/list-query.ts";
import { time } from "../wire/time-schema.ts";
import { itemNotFound, queueToWire, queueView, type Section, sectionWord } from "./annotation-queue.ts";
import type { AnnotationService } from "./annotation-service.ts";

const tag = "Annotation queues";
const id = z.guid().transform((text) => text.toLowerCase());
const params = z.object({ queue_id: id });
const size = { 200: { description: "How many", schema: z.object({ size: z.int() }) } };
const annotatorDetail = z
  .boolean()
  .refine(
    (asked) => !asked,
    "Who reviewed a run is in completed_by, and who gave which feedback at GET /api/v1/feedback?run=<id>. Leave this out.",
  );
const window = { start_time: time.nullish(), end_time: time.nullish() };

const runQuery = z.object({
  status: sectionWord.optional(),
  archived: z.stringbool().optional(),
  include_stats: z.stringbool().optional().describe("False: without `feedback_stats`."),
  ...page(100),
});

/** Reading the runs of a queue, by the older paths. */
export function annotationRunRoutes(service: AnnotationService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/api/v1/annotation-queues/{queue_id}/runs",
        operationId: "list_runs_of_annotation_queue",
        summary: "The runs of a queue, with where they stand in it",
        tag,
        access: reads,
        params,
        query: runQuery,
        responses: { 200: { description: "A page of runs", schema: z.array(runView) } },
        errors: [404],
      },
      async ({ caller, params, query }) => {
        const section = query.status ?? (query.archived === true ? "archived" : "all");
        const filter = { section, itemType: "RUN" } as const;
        const items = await service.items(caller, params.queue_id, filter, {
          limit: query.limit,
          offset: query.offset,
        });
        const without = query.include_stats === false ? ["feedback_stats"] : [];
        const runs = await service.writeRuns(caller.workspaceId, items, without);
        return jsonText(200, `[${runs.join(",")}]`);
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/annotation-queues/{queue_id}/run/{index}",
        operationId: "get_run_of_annotation_queue",
        summary: "The run at a position in the list that the caller has to review",
        tag,
        access: reads,
        params: params.extend({ index: z.coerce.number().int().min(0).max(1_000_000) }),
        query: z.object({ include_extra: z.stringbool().optional().describe("False: without `extra`.") }),
        responses: { 200: { description: "The run", schema: runView } },
        errors: [404],
      },
      async ({ caller, params, query }) => {
        const filter = { section: "needs_my_review", itemType: "RUN" } as const;
        const items = await service.items(caller, params.queue_id, filter, {
          limit: 1,
          offset: params.index,
        });
        const without = query.include_extra === false ? ["extra"] : [];
        const [run] = await service.writeRuns(caller.workspaceId, items, without);
        if (!run) throw itemNotFound(String(params.index));
        return jsonText(200, run);
      },
    ),
    countRoute(service, "size", "count_runs_to_review", "How many runs the caller has to review"),
    countRoute(service, "total_size", "count_runs_of_annotation_queue", "How many runs a queue has"),
    countRoute(service, "total_archived", "count_reviewed_runs", "How many runs of a queue are done"),
    route(
      {
        method: "post",
        path: "/api/v1/annotation-queues/{queue_id}/export",
        operationId: "export_annotation_queue",
        summary: "The runs of a queue that are done, with their feedback",
        tag,
        access: reads,
        params,
        body: z.looseObject({ ...window, include_annotator_detail: annotatorDetail.nullish() }),
        responses: { 200: { description: "The runs, at most 1,000", schema: z.array(runView) } },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const filter = {
          section: "archived",
          itemType: "RUN",
          since: body.start_time ?? undefined,
          until: body.end_time ?? undefined,
        } as const;
        const items = await service.items(caller, params.queue_id, filter, { limit: 1_000 });
        return jsonText(200, `[${(await service.writeRuns(caller.workspaceId, items)).join(",")}]`);
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/annotation-queues/{queue_id}/queues",
        operationId: "list_annotation_queues_of_run",
        summary: "The queues a run is in",
        tag,
        access: reads,
        params: params.describe("The run's id."),
        responses: { 200: { description: "The queues", schema: z.array(queueView) } },
      },
      async ({ caller, params }) => {
        const filter = { runId: params.queue_id, limit: 100, offset: 0 };
        return json(200, (await service.list(caller.workspaceId, filter)).map(queueToWire));
      },
    ),
  ];
}

function countRoute(
  service: AnnotationService,
  path: "size" | "total_size" | "total_archived",
  operationId: string,
  summary: string,
): Route {
  return route(
    {
      method: "get",
      path: `/api/v1/annotation-queues/{queue_id}/${path}`,
      operationId,
      summary,
      tag,
      access: reads,
      params,
      query: z.object({
        // The others are of one section by their name.
        ...(path === "size" && { status: sectionWord.optional() }),
        start_time: time.optional(),
        end_time: time.optional(),
      }),
      responses: size,
      errors: [404],
    },
    async ({ caller, params, query }) => {
      const section =
        path === "total_archived"
          ? "archived"
          : path === "total_size"
            ? "all"
            : ((query as { status?: Section }).status ?? "needs_my_review");
      const filter = { section, since: query.start_time, until: query.end_time } as const;
      return json(200, { size: await service.count(caller, params.queue_id, filter) });
    },
  );
}
