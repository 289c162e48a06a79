import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { jsonText } from "../query/run-query-routes.ts";
import { runView } from "../query/run-query-schemas.ts";
import { reads, writes } from "../wire/access.ts";
import { page } from "../wire/list-query.ts";
import { time } from "../wire/time-schema.ts";
import {
  type AnnotationItem,
  itemNotFound,
  itemView,
  type Section,
  sectionWord,
} from "./annotation-queue.ts";
import type { AnnotationService } from "./annotation-service.ts";
import { extendRetentionQuery } from "./retention-field.ts";

const tag = "Annotation queues";
const id = z.guid().transform((text) => text.toLowerCase());
const params = z.object({ queue_id: id });
const added = itemView.pick({ id: true, queue_id: true, added_at: true, last_reviewed_time: true }).extend({
  run_id: z.guid(),
  source_proposed_example_id: z.guid().nullable(),
});
const size = { 200: { description: "How many", schema: z.object({ size: z.int() }) } };
const done = (description: string) => ({ 200: { description, schema: z.object({ message: z.string() }) } });
const byKey = z.looseObject({
  run_id: id,
  session_id: id.nullish().describe("Its project; another one is 404."),
  start_time: time.nullish().describe("A hint; the run is found without it."),
  source_proposed_example_id: id.nullish(),
});
const annotatorDetail = z
  .boolean()
  .refine(
    (asked) => !asked,
    "Who reviewed a run is in completed_by, and who gave which feedback at GET /api/v1/feedback?run=<id>. Leave this out.",
  );
const window = { start_time: time.nullish(), end_time: time.nullish() };

/** The runs of a queue, by the older paths. */
export function annotationRunRoutes(service: AnnotationService): Route[] {
  const addRuns = (path: "runs" | "runs/by-key", operationId: string) =>
    route(
      {
        method: "post",
        path: `/api/v1/annotation-queues/{queue_id}/${path}`,
        operationId,
        summary: "Put runs into a queue: all of them, or none",
        tag,
        access: writes,
        params,
        query: extendRetentionQuery,
        body: z.array(z.union([id, byKey])).max(1_000),
        responses: { 200: { description: "Where they stand in it", schema: z.array(added) } },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const items = body.map((each) =>
          typeof each === "string"
            ? { kind: "run" as const, runId: each }
            : {
                kind: "run" as const,
                runId: each.run_id,
                projectId: each.session_id,
                sourceProposedExampleId: each.source_proposed_example_id,
              },
        );
        return json(200, (await service.add(caller, params.queue_id, items)).map(toAdded));
      },
    );
  const count = (path: "size" | "total_size" | "total_archived", operationId: string, summary: string) =>
    route(
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
  return [
    addRuns("runs", "add_runs_to_annotation_queue"),
    addRuns("runs/by-key", "add_runs_to_annotation_queue_by_key"),
    route(
      {
        method: "get",
        path: "/api/v1/annotation-queues/{queue_id}/runs",
        operationId: "list_runs_of_annotation_queue",
        summary: "The runs of a queue, with where they stand in it",
        tag,
        access: reads,
        params,
        query: z.object({
          status: sectionWord.optional(),
          archived: z.stringbool().optional(),
          include_stats: z.stringbool().optional().describe("False: without `feedback_stats`."),
          ...page(100),
        }),
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
        return jsonText(`[${runs.join(",")}]`);
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/annotation-queues/{queue_id}/run/{index}",
        operationId: "get_run_of_annotation_queue",
        summary: "The run at a place among those the caller has to review",
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
        return jsonText(run);
      },
    ),
    route(
      {
        method: "patch",
        path: "/api/v1/annotation-queues/{queue_id}/runs/{queue_run_id}",
        operationId: "update_run_of_annotation_queue",
        summary: "Change when an item was added or reviewed",
        tag,
        access: writes,
        params: params.extend({ queue_run_id: id }),
        body: z.looseObject({ added_at: time.nullish(), last_reviewed_time: time.nullish() }),
        responses: { 200: { description: "The item", schema: itemView } },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const change = {
          addedAt: body.added_at ?? undefined,
          lastReviewedTime: body.last_reviewed_time ?? undefined,
        };
        return json(200, await service.change(caller, params.queue_id, params.queue_run_id, change));
      },
    ),
    route(
      {
        method: "delete",
        path: "/api/v1/annotation-queues/{queue_id}/runs/{queue_run_id}",
        operationId: "delete_run_of_annotation_queue",
        summary: "Take a run out of a queue, by its id or by that of its item",
        tag,
        access: writes,
        params: params.extend({ queue_run_id: id }),
        responses: done("Taken out"),
        errors: [404],
      },
      async ({ caller, params }) => {
        const ids = [params.queue_run_id];
        if ((await service.removeItems(caller.workspaceId, params.queue_id, { ids })) === 0)
          throw itemNotFound(params.queue_run_id);
        return json(200, { message: "Run taken out of the queue" });
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v1/annotation-queues/{queue_id}/runs/delete",
        operationId: "delete_runs_of_annotation_queue",
        summary: "Take runs out of a queue, or all but some",
        tag,
        access: writes,
        params,
        body: z.looseObject({
          run_ids: z.array(id).max(10_000).nullish(),
          delete_all: z.boolean().nullish(),
          exclude_run_ids: z.array(id).max(10_000).nullish(),
        }),
        responses: done("Taken out"),
        errors: [404],
      },
      async ({ caller, params, body }) => {
        if (!body.delete_all && !body.run_ids)
          throw invalidField(["body", "run_ids"], "Name the runs, or send delete_all");
        if (body.delete_all && body.run_ids?.length)
          throw invalidField(
            ["body", "run_ids"],
            "Send run_ids or delete_all, not both; exclude_run_ids names what stays",
          );
        if (!body.delete_all && body.exclude_run_ids?.length)
          throw invalidField(
            ["body", "exclude_run_ids"],
            "It goes with delete_all: leave it out, or send both",
          );
        const which = body.delete_all ? { allBut: body.exclude_run_ids ?? [] } : { ids: body.run_ids! };
        const gone = await service.removeItems(caller.workspaceId, params.queue_id, which);
        return json(200, { message: `${gone} runs taken out of the queue` });
      },
    ),
    count("size", "count_runs_to_review", "How many runs the caller has to review"),
    count("total_size", "count_runs_of_annotation_queue", "How many runs a queue has"),
    count("total_archived", "count_reviewed_runs", "How many runs of a queue are done"),
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
        return jsonText(`[${(await service.writeRuns(caller.workspaceId, items)).join(",")}]`);
      },
    ),
  ];
}

function toAdded(item: AnnotationItem): z.input<typeof added> {
  const { id, queue_id, run_id, added_at, last_reviewed_time, source_proposed_example_id } = item;
  return { id, queue_id, run_id: run_id!, added_at, last_reviewed_time, source_proposed_example_id };
}
