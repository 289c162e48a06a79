import { z } from "zod";
import { json } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { itemCondition } from "../auth/item-filter.ts";
import { guardNamespaces, guardSearch } from "./item-guard.ts";
import { itemSearchBody, itemView, namespaceSearchBody, toItemView } from "./item-schemas.ts";
import type { ItemService } from "./item-service.ts";

const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const tag = "Store";

/** Finding items and namespaces of the long-term store. */
export function itemSearchRoutes(items: ItemService): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "post",
        path: "/store/items/search",
        operationId: "searchStoreItems",
        summary: "Find items under a namespace",
        description:
          "`filter` compares top-level fields of the value: equal to, or $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin. " +
          "With a configured index, `query` ranks by meaning and returns scores. Without one, items with more of " +
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
