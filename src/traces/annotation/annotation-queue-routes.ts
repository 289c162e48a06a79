import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { reads, writes } from "../wire/access.ts";
import { page } from "../wire/list-query.ts";
import { queueFields, queueToWire, queueView } from "./annotation-queue.ts";
import type { QueueChange } from "./annotation-queue-store.ts";
import type { AnnotationService } from "./annotation-service.ts";

const tag = "Annotation queues";
const id = z.guid().transform((text) => text.toLowerCase());
const params = z.object({ queue_id: id });
const one = { 200: { description: "The queue", schema: queueView } };
const done = (description: string) => ({ 200: { description, schema: z.object({ message: z.string() }) } });

const newQueue = z.looseObject({
  ...queueFields,
  id: id.nullish(),
  session_ids: z.array(id).max(100).nullish().describe("Projects whose traces are added to it."),
});

const queueQuery = z.object({
  ids: queryList(id).optional(),
  name: z.string().optional(),
  name_contains: z.string().optional(),
  dataset_id: id.optional(),
  queue_type: z.enum(["single", "pairwise"]).optional(),
  ...page(100),
});

export function annotationQueueRoutes(service: AnnotationService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/api/v1/annotation-queues",
        operationId: "create_annotation_queue",
        summary: "Create an annotation queue",
        tag,
        access: writes,
        body: newQueue,
        responses: one,
        errors: [404, 409, 413],
      },
      async ({ caller, body }) => {
        const queue = { ...changeOf(body), name: body.name, id: body.id ?? undefined };
        return json(200, queueToWire(await service.create(caller, queue, body.session_ids ?? [])));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/annotation-queues",
        operationId: "list_annotation_queues",
        summary: "List annotation queues, newest first",
        tag,
        access: reads,
        query: queueQuery,
        responses: { 200: { description: "A page of queues", schema: z.array(queueView) } },
      },
      async ({ caller, query }) => {
        if (query.queue_type === "pairwise") return json(200, []);
        const found = await service.list(caller.workspaceId, {
          ids: query.ids,
          name: query.name,
          nameContains: query.name_contains,
          datasetId: query.dataset_id,
          limit: query.limit,
          offset: query.offset,
        });
        return json(200, found.map(queueToWire));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/annotation-queues/{queue_id}",
        operationId: "get_annotation_queue",
        summary: "Read an annotation queue",
        tag,
        access: reads,
        params,
        responses: one,
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, queueToWire(await service.get(caller.workspaceId, params.queue_id))),
    ),
    route(
      {
        method: "patch",
        path: "/api/v1/annotation-queues/{queue_id}",
        operationId: "update_annotation_queue",
        summary: "Change an annotation queue",
        tag,
        access: writes,
        params,
        body: z.looseObject({ ...queueFields, name: queueFields.name.nullish() }),
        responses: one,
        errors: [404],
      },
      async ({ caller, params, body }) =>
        json(200, queueToWire(await service.update(caller.workspaceId, params.queue_id, changeOf(body)))),
    ),
    route(
      {
        method: "delete",
        path: "/api/v1/annotation-queues/{queue_id}",
        operationId: "delete_annotation_queue",
        summary: "Delete an annotation queue; runs and feedback stay",
        tag,
        access: writes,
        params,
        responses: done("Deleted"),
        errors: [404],
      },
      async ({ caller, params }) => {
        await service.remove(caller.workspaceId, params.queue_id);
        return json(200, { message: "Annotation queue deleted" });
      },
    ),
  ];
}

type Sent = Partial<z.output<z.ZodObject<typeof queueFields>>> | { name?: string | null | undefined };

/** Null clears a text; what must have a value keeps it. */
function changeOf(body: Sent): QueueChange {
  const sent = body as Partial<z.output<z.ZodObject<typeof queueFields>>>;
  return {
    name: sent.name ?? undefined,
    description: sent.description,
    rubric_instructions: sent.rubric_instructions,
    rubric_items: sent.rubric_items,
    default_dataset: sent.default_dataset,
    metadata: sent.metadata,
    num_reviewers_per_item: sent.num_reviewers_per_item ?? undefined,
    enable_reservations: sent.enable_reservations ?? undefined,
    reservation_minutes: sent.reservation_minutes ?? undefined,
  };
}
