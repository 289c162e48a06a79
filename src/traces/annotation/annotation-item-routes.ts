import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { readCursor, writeCursor } from "../query/run-cursor.ts";
import { reads } from "../wire/access.ts";
import { time } from "../wire/time-schema.ts";
import { type AnnotationItem, itemView, sections } from "./annotation-queue.ts";
import type { AnnotationService } from "./annotation-service.ts";

const tag = "Annotation queues";
const id = z.guid().transform((text) => text.toLowerCase());
const params = z.object({ queue_id: id });
const itemType = z.enum(["RUN", "THREAD"]);

const itemQuery = z.object({
  status: z.enum(sections),
  item_type: itemType.optional(),
  direction: z.enum(["forward", "backward"]).default("forward"),
  page_size: z.coerce.number().int().min(1).max(100).default(20),
  cursor: z.string().optional(),
});

/** Reading the items of a queue: runs and threads. */
export function annotationItemRoutes(service: AnnotationService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/api/v1/platform/annotation-queues/{queue_id}/items",
        operationId: "list_annotation_items",
        summary: "The items of one section of a queue",
        tag,
        access: reads,
        params,
        query: itemQuery,
        responses: {
          200: {
            description: "A page of items",
            schema: z.object({
              items: z.array(itemView),
              next_cursor: z.string().nullable(),
              has_more: z.boolean(),
            }),
          },
        },
        errors: [404],
      },
      async ({ caller, params, query }) => {
        const backward = query.direction === "backward";
        if (backward && !query.cursor)
          throw invalidField(["query", "cursor"], "Going backward needs a cursor");
        const after = query.cursor ? readCursor(query.cursor, ["query", "cursor"]) : undefined;
        const found = await service.items(
          caller,
          params.queue_id,
          { section: query.status, itemType: query.item_type },
          {
            limit: query.page_size + 1,
            backward,
            after: after && { addedAt: after.startTime, id: after.id },
          },
        );
        const isMore = found.length > query.page_size;
        const items = isMore ? (backward ? found.slice(1) : found.slice(0, -1)) : found;
        const edge = backward ? items[0] : items.at(-1);
        return json(200, { items, next_cursor: isMore && edge ? cursorOf(edge) : null, has_more: isMore });
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/platform/annotation-queues/{queue_id}/items/count",
        operationId: "count_annotation_items",
        summary: "How many items a section has",
        tag,
        access: reads,
        params,
        query: z.object({
          status: z.enum(["all", ...sections]),
          start_time: time.optional(),
          end_time: time.optional(),
        }),
        responses: { 200: { description: "How many", schema: z.object({ count: z.int() }) } },
        errors: [404],
      },
      async ({ caller, params, query }) => {
        const filter = { section: query.status, since: query.start_time, until: query.end_time };
        return json(200, { count: await service.count(caller, params.queue_id, filter) });
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/platform/annotation-queues/{queue_id}/items/{item_id}/placement",
        operationId: "place_annotation_item",
        summary: "The section an item is in, and its place there",
        tag,
        access: reads,
        params: params.extend({ item_id: id }),
        responses: {
          200: {
            description: "The place, from zero",
            schema: z.object({
              section: z.enum(sections),
              position: z.int(),
              item_type: itemType,
              cursor: z.string(),
            }),
          },
        },
        errors: [404],
      },
      async ({ caller, params }) => {
        const { item, section, position } = await service.placement(caller, params.queue_id, params.item_id);
        return json(200, { section, position, item_type: item.item_type, cursor: cursorOf(item) });
      },
    ),
  ];
}

function cursorOf(item: AnnotationItem): string {
  return writeCursor({ startTime: item.effective_added_at, id: item.id });
}
