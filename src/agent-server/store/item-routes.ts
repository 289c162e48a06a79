import { json, noContent } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { guardDelete, guardGet, guardPut } from "./item-guard.ts";
import { itemDeleteBody, itemGetQuery, itemPutBody, itemView, toItemView } from "./item-schemas.ts";
import type { ItemService } from "./item-service.ts";

const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const tag = "Store";

/** Single items of the long-term store. */
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
        description: "Returns null if there is no such item.",
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
        description: "It is not an error if there is no such item.",
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
  ];
}
