import { z } from "zod";
import { json, noContent } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { itemCondition } from "../auth/item-filter.ts";
import { guardDelete, guardGet, guardNamespaces, guardPut, guardSearch } from "./item-guard.ts";
import {
  itemDeleteBody,
  itemGetQuery,
  itemPutBody,
  itemSearchBody,
  itemView,
  namespaceSearchBody,
  toItemView,
} from "./item-schemas.ts";
import type { ItemService } from "./item-service.ts";

const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const tag = "Store";

/** The long-term store over HTTP. */
export function itemRoutes(items: ItemService): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "put",
        path: "/store/items",
        operationId: "putStoreItem",
        summary: "Write an item",
        tag,
        access: editor,
        guard: guardPut,
        body: itemPutBody,
        responses: { 204: { description: "Written." } },
      },
      async ({ caller, body }) => {
        const { namespace, key, value, index, ttl } = body;
        await items.put(caller.workspaceId, { namespace, key, value, index, ttlMinutes: ttl });
        return noContent();
      },
    ),
    agentRoute(
      {
        method: "get",
        path: "/store/items",
        operationId: "getStoreItem",
        summary: "Read an item",
        description: "Answers null when there is no such item.",
        tag,
        access: viewer,
        guard: guardGet,
        query: itemGetQuery,
        responses: { 200: { description: "The item, or null.", schema: itemView.nullable() } },
      },
      async ({ caller, query }) => {
        const [item] = await items.getMany(caller.workspaceId, [query], { refreshTtl: query.refresh_ttl });
        return json(200, item ? toItemView(item) : null);
      },
    ),
    agentRoute(
      {
        method: "delete",
        path: "/store/items",
        operationId: "deleteStoreItem",
        summary: "Delete an item",
        description: "It is no error when there is no such item.",
        tag,
        access: editor,
        guard: guardDelete,
        body: itemDeleteBody,
        responses: { 204: { description: "Deleted." } },
      },
      async ({ caller, body }) => {
        await items.remove(caller.workspaceId, body);
        return noContent();
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/store/items/search",
        operationId: "searchStoreItems",
        summary: "Find items under a namespace",
        description:
          "`filter` compares top-level fields of the value: equal to, or $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin. " +
          "With a configured index `query` ranks by meaning and gives scores. Without one, items that hold more of " +
          "the query's words come first, and none is left out.",
        tag,
        access: viewer,
        guard: guardSearch,
        body: itemSearchBody,
        responses: { 200: { description: "Items.", schema: z.object({ items: z.array(itemView) }) } },
      },
      async ({ caller, body }) => {
        const found = await items.search(caller.workspaceId, {
          prefix: body.namespace_prefix ?? [],
          filter: body.filter ?? undefined,
          query: body.query ?? undefined,
          limit: body.limit,
          offset: body.offset,
          refreshTtl: body.refresh_ttl ?? undefined,
          admitted: itemCondition(caller.rowFilter, "i"),
        });
        return json(200, { items: found.map(toItemView) });
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/store/namespaces",
        operationId: "listStoreNamespaces",
        summary: "Namespaces that hold items",
        tag,
        access: viewer,
        guard: guardNamespaces,
        body: namespaceSearchBody,
        responses: {
          200: { description: "Namespaces.", schema: z.object({ namespaces: z.array(z.array(z.string())) }) },
        },
      },
      async ({ caller, body }) => {
        const namespaces = await items.listNamespaces({
          workspaceId: caller.workspaceId,
          prefixes: body.prefix ? [body.prefix] : [],
          suffixes: body.suffix ? [body.suffix] : [],
          maxDepth: body.max_depth ?? undefined,
          admitted: itemCondition(caller.rowFilter, "i"),
          limit: body.limit,
          offset: body.offset,
        });
        return json(200, { namespaces });
      },
    ),
  ];
}
