import { z } from "zod";
import { json, noContent, type Route, route } from "../platform/http/route.ts";
import { shareBody, sharedConversation, shareQuery, shareView, toShareView } from "./share.ts";
import type { ShareService } from "./share-service.ts";

const tag = "Chat";
const reads = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const writes = { kind: "agent", role: "editor", scope: "runs" } as const;
const maxBodyBytes = 8_000_000;

/** A conversation is shared as it is now: later messages are not visible until it is shared again. */
export function shareRoutes(shares: ShareService): Route[] {
  return [putRoute(shares), getRoute(shares), deleteRoute(shares), openRoute(shares)];
}

function putRoute(shares: ShareService): Route {
  return route(
    {
      method: "put",
      path: "/v2/chat/shares",
      operationId: "share_conversation",
      summary: "Share a conversation as it is now",
      description:
        "Everyone with the link can read it, without a key, until sharing is withdrawn. If it is shared again, it keeps its link and shows the latest messages.",
      tag,
      access: writes,
      audit: { action: "chat.shared", target: { kind: "thread", id: "body.thread" } },
      body: shareBody,
      maxBodyBytes,
      responses: { 200: { description: "The link.", schema: shareView } },
    },
    async ({ caller, body }) => {
      const made = await shares.share({ ...body, workspace_id: caller.workspaceId, user_id: caller.userId });
      return json(200, toShareView(made));
    },
  );
}

function getRoute(shares: ShareService): Route {
  return route(
    {
      method: "get",
      path: "/v2/chat/shares",
      operationId: "get_conversation_share",
      summary: "The link of a shared conversation",
      tag,
      access: reads,
      query: shareQuery,
      responses: { 200: { description: "The link.", schema: shareView } },
      errors: [404],
    },
    async ({ caller, query }) => {
      const place = { workspace_id: caller.workspaceId, ...query };
      return json(200, toShareView(await shares.find(place)));
    },
  );
}

function deleteRoute(shares: ShareService): Route {
  return route(
    {
      method: "delete",
      path: "/v2/chat/shares",
      operationId: "unshare_conversation",
      summary: "Withdraw the link to a conversation",
      tag,
      access: writes,
      audit: { action: "chat.unshared", target: { kind: "thread", id: "query.thread" } },
      query: shareQuery,
      responses: { 204: { description: "The link no longer works." } },
    },
    async ({ caller, query }) => {
      await shares.unshare({ workspace_id: caller.workspaceId, ...query });
      return noContent();
    },
  );
}

function openRoute(shares: ShareService): Route {
  return route(
    {
      method: "get",
      path: "/v2/chat/shared/{share_token}",
      operationId: "open_shared_conversation",
      summary: "Read a shared conversation",
      description: "No key is needed, and none is read.",
      tag,
      access: { kind: "open" },
      params: z.object({ share_token: z.guid().transform((token) => token.toLowerCase()) }),
      responses: { 200: { description: "The conversation.", schema: sharedConversation } },
      errors: [404],
    },
    async ({ params }) => {
      const { title, messages_json, created_at } = await shares.open(params.share_token);
      const messages = JSON.parse(messages_json) as Record<string, unknown>[];
      return json(200, { title, messages, created_at: created_at.toISOString() });
    },
  );
}
