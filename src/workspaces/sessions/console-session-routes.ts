import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { id } from "../wire/fields.ts";
import type { ConsoleSessions } from "./console-session-service.ts";
import { sessionBody, toWire } from "./session-wire.ts";

const tag = "Sessions";
const ofUser = z.object({ user_id: id.optional().describe("A member of the workspace, for admins.") });

/** Who is signed in where, and how that ends. */
export function consoleSessionRoutes(sessions: ConsoleSessions): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/auth/sessions",
        operationId: "list_sessions",
        summary: "List console sessions",
        description: "The caller's own, or for admins those of a member; the most recently used first.",
        tag,
        access: { kind: "workspace", role: "viewer", scope: "read" },
        query: ofUser,
        responses: {
          200: { description: "The sessions", schema: z.object({ resources: z.array(sessionBody) }) },
        },
        errors: [404],
      },
      async ({ caller, query }) => {
        const found = await sessions.list(caller, query.user_id ?? caller.userId);
        return json(200, { resources: found.map((session) => toWire(session, caller.sessionId)) });
      },
    ),
    route(
      {
        method: "delete",
        path: "/v2/auth/sessions",
        operationId: "sign_out_everywhere",
        summary: "End all console sessions",
        description: "Ends all the caller's other sessions, or for admins all sessions of a member.",
        tag,
        access: { kind: "workspace", role: "viewer", scope: "admin" },
        audit: {
          action: "session.all_ended",
          target: { kind: "member", id: "query.user_id" },
          details: { ended: "answer.ended" },
        },
        query: ofUser,
        responses: {
          200: {
            description: "How many there were",
            schema: z.object({ ended: z.number().int() }),
          },
        },
        errors: [404],
      },
      async ({ caller, query }) => {
        const userId = query.user_id ?? caller.userId;
        return json(200, { ended: await sessions.revokeAll(caller, userId, userId === caller.userId) });
      },
    ),
    route(
      {
        method: "delete",
        path: "/v2/auth/sessions/{session_id}",
        operationId: "end_session",
        summary: "End a console session",
        tag,
        access: { kind: "workspace", role: "viewer", scope: "admin" },
        audit: { action: "session.ended", target: { kind: "session", id: "params.session_id" } },
        params: z.object({ session_id: id }),
        query: ofUser,
        responses: { 204: { description: "Ended" } },
        errors: [404],
      },
      async ({ caller, params, query }) => {
        await sessions.revoke(caller, query.user_id ?? caller.userId, params.session_id);
        return noContent();
      },
    ),
  ];
}
