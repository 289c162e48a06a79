import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { writes } from "../wire/access.ts";
import { time } from "../wire/time-schema.ts";
import { itemView } from "./annotation-queue.ts";
import type { AddedItem, AnnotationService } from "./annotation-service.ts";
import { extendRetentionQuery } from "./retention-field.ts";

const tag = "Annotation queues";
const id = z.guid().transform((text) => text.toLowerCase());
const params = z.object({ queue_id: id });
const itemType = z.enum(["RUN", "THREAD"]);
const newItem = z.looseObject({
  item_type: itemType.nullish(),
  run_id: id.nullish(),
  project_id: id.nullish(),
  session_id: id.nullish(),
  thread_id: z.string().min(1).max(1_000).nullish(),
  start_time: time.nullish().describe("A hint; the run is found without it."),
  source_proposed_example_id: id.nullish(),
});
const statusBody = z.looseObject({
  status: z
    .enum(["viewed", "completed"])
    .nullish()
    .describe("Null: shown again as if it had never been reviewed."),
  override_added_at: time.nullish().describe("Puts it off for this reviewer."),
});
const statusView = z.object({
  queue_item_id: z.guid(),
  status: z.enum(["viewed", "completed"]).nullable(),
  override_added_at: z.string().nullable(),
  is_archived: z.boolean(),
});

/** Changing the items of a queue: runs and threads. */
export function annotationItemChangeRoutes(service: AnnotationService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/api/v1/platform/annotation-queues/{queue_id}/items",
        operationId: "add_annotation_items",
        summary: "Add runs and threads to a queue: all of them, or none",
        tag,
        access: writes,
        params,
        query: extendRetentionQuery,
        body: z.looseObject({ items: z.array(newItem).min(1).max(1_000) }),
        responses: { 200: { description: "The items", schema: z.object({ items: z.array(itemView) }) } },
        errors: [404],
      },
      async ({ caller, params, body }) =>
        json(200, { items: await service.add(caller, params.queue_id, body.items.map(toAdded)) }),
    ),
    route(
      {
        method: "patch",
        path: "/api/v1/platform/annotation-queues/{queue_id}/items/{item_id}",
        operationId: "update_annotation_item",
        summary: "Change when an item was added or reviewed",
        tag,
        access: writes,
        params: params.extend({ item_id: id }),
        body: z.looseObject({ added_at: time.nullish(), last_reviewed_time: time.nullish() }),
        responses: { 200: { description: "The item", schema: itemView } },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const change = {
          addedAt: body.added_at ?? undefined,
          lastReviewedTime: body.last_reviewed_time ?? undefined,
        };
        return json(200, await service.change(caller, params.queue_id, params.item_id, change));
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v1/platform/annotation-queues/{queue_id}/items/delete",
        operationId: "delete_annotation_items",
        summary: "Remove items from a queue",
        tag,
        access: writes,
        params,
        body: z.looseObject({ item_ids: z.array(id).max(10_000) }),
        responses: { 200: { description: "Taken out", schema: z.object({ message: z.string() }) } },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const ids = body.item_ids;
        const gone = await service.removeItems(caller.workspaceId, params.queue_id, { ids });
        return json(200, { message: `${gone} items removed from the queue` });
      },
    ),
    statusRoute(
      service,
      "/api/v1/platform/annotation-queues/items/{item_id}/status",
      "set_annotation_status",
    ),
    statusRoute(service, "/api/v1/annotation-queues/status/{item_id}", "set_annotation_run_status"),
  ];
}

function toAdded(item: z.output<typeof newItem>, index: number): AddedItem {
  const projectId = item.project_id ?? item.session_id;
  const sourceProposedExampleId = item.source_proposed_example_id;
  if (item.run_id && !item.thread_id && item.item_type !== "THREAD")
    return { kind: "run", runId: item.run_id, projectId, sourceProposedExampleId };
  if (item.thread_id && projectId && !item.run_id && item.item_type !== "RUN") {
    if (!sourceProposedExampleId) return { kind: "thread", projectId, threadId: item.thread_id };
    throw invalidField(
      ["body", "items", index, "source_proposed_example_id"],
      "An example is proposed from a run: leave it out of a thread, or name the run",
    );
  }
  throw invalidField(
    ["body", "items", index],
    "A run needs run_id, a thread needs thread_id and project_id; name one of the two",
  );
}

function statusRoute(service: AnnotationService, path: `/${string}`, operationId: string): Route {
  return route(
    {
      method: "post",
      path,
      operationId,
      summary: "Record what the caller did with an item",
      tag,
      access: writes,
      params: z.object({ item_id: id }),
      body: statusBody,
      responses: { 200: { description: "Where it stands now", schema: statusView } },
      errors: [404],
    },
    async ({ caller, params, body }) => {
      if (!body.status && body.override_added_at)
        throw invalidField(
          ["body", "override_added_at"],
          "It needs a status: send viewed with it, or leave it out",
        );
      const change = { status: body.status ?? null, overrideAddedAt: body.override_added_at ?? null };
      const is_archived = await service.setStatus(caller, params.item_id, change);
      return json(200, {
        queue_item_id: params.item_id,
        status: change.status,
        override_added_at: change.overrideAddedAt,
        is_archived,
      });
    },
  );
}
