import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { writes } from "../wire/access.ts";
import { time } from "../wire/time-schema.ts";
import { type AnnotationItem, itemNotFound, itemView } from "./annotation-queue.ts";
import type { AnnotationService } from "./annotation-service.ts";
import { extendRetention, extendRetentionQuery } from "./retention-field.ts";

const tag = "Annotation queues";
const id = z.guid().transform((text) => text.toLowerCase());
const params = z.object({ queue_id: id });
const added = itemView.pick({ id: true, queue_id: true, added_at: true, last_reviewed_time: true }).extend({
  run_id: z.guid(),
  source_proposed_example_id: z.guid().nullable(),
});
const done = (description: string) => ({ 200: { description, schema: z.object({ message: z.string() }) } });
const byKey = z.looseObject({
  run_id: id,
  session_id: id.nullish().describe("Its project; another one is 404."),
  start_time: time.nullish().describe("A hint; the run is found without it."),
  source_proposed_example_id: id.nullish(),
});

const removal = z.looseObject({
  run_ids: z.array(id).max(10_000).nullish(),
  delete_all: z.boolean().nullish(),
  exclude_run_ids: z.array(id).max(10_000).nullish(),
});

/** Changing which runs a queue has, by the older paths. */
export function annotationRunChangeRoutes(service: AnnotationService): Route[] {
  return [
    addRunsRoute(service, "runs", "add_runs_to_annotation_queue"),
    addRunsRoute(service, "runs/by-key", "add_runs_to_annotation_queue_by_key"),
    route(
      {
        method: "post",
        path: "/api/v1/annotation-queues/populate",
        operationId: "populate_annotation_queue",
        summary: "Add the traces of experiments to a queue",
        tag,
        access: writes,
        body: z.looseObject({
          queue_id: id,
          session_ids: z.array(id).min(1).max(100),
          extend_trace_retention: extendRetention.nullish(),
        }),
        responses: done("Added"),
        errors: [404, 413],
      },
      async ({ caller, body }) => {
        const count = await service.populate(caller, body.queue_id, body.session_ids);
        return json(200, { message: `${count} runs are in the queue` });
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
        summary: "Remove a run from a queue, by its id or by its item's id",
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
        return json(200, { message: "Run removed from the queue" });
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v1/annotation-queues/{queue_id}/runs/delete",
        operationId: "delete_runs_of_annotation_queue",
        summary: "Remove runs from a queue, or all but some",
        tag,
        access: writes,
        params,
        body: removal,
        responses: done("Taken out"),
        errors: [404],
      },
      async ({ caller, params, body }) => {
        if (!body.delete_all && !body.run_ids)
          throw invalidField(["body", "run_ids"], "Name the runs, or send delete_all");
        if (body.delete_all && body.run_ids?.length)
          throw invalidField(
            ["body", "run_ids"],
            "Send run_ids or delete_all, not both; exclude_run_ids names the runs that stay",
          );
        if (!body.delete_all && body.exclude_run_ids?.length)
          throw invalidField(["body", "exclude_run_ids"], "It needs delete_all: leave it out, or send both");
        const which = body.delete_all ? { allBut: body.exclude_run_ids ?? [] } : { ids: body.run_ids! };
        const gone = await service.removeItems(caller.workspaceId, params.queue_id, which);
        return json(200, { message: `${gone} runs removed from the queue` });
      },
    ),
  ];
}

function toAdded(item: AnnotationItem): z.input<typeof added> {
  const { id, queue_id, run_id, added_at, last_reviewed_time, source_proposed_example_id } = item;
  return { id, queue_id, run_id: run_id!, added_at, last_reviewed_time, source_proposed_example_id };
}

function addRunsRoute(service: AnnotationService, path: "runs" | "runs/by-key", operationId: string): Route {
  return route(
    {
      method: "post",
      path: `/api/v1/annotation-queues/{queue_id}/${path}`,
      operationId,
      summary: "Add runs to a queue: all of them, or none",
      tag,
      access: writes,
      params,
      query: extendRetentionQuery,
      body: z.array(z.union([id, byKey])).max(1_000),
      responses: { 200: { description: "Their places in the queue", schema: z.array(added) } },
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
}
