import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { scopes } from "../../platform/http/access/scope.ts";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { id, role } from "../wire.ts";
import { sessionEnded } from "./console-session.ts";
import type { ConsoleSessions } from "./console-session-service.ts";
import { findUser } from "./console-session-store.ts";
import { sessionBody, toWire } from "./session-wire.ts";

const tag = "Sessions";
/** Whatever a credential is limited to, it may ask who it is and sign out. */
const own = { kind: "workspace", role: "viewer", scope: scopes } as const;
const ofUser = z.object({ user_id: id.optional().describe("A member of the workspace, for admins.") });

const identity = z
  .object({
    user: z.object({ id, email: z.string(), name: z.string() }),
    workspace_id: id,
    role,
    session: sessionBody.nullable().describe("Null when the request brought a key."),
  })
  .meta({ id: "CurrentSession" });

/** Who is signed in where, and how that ends. */
export function consoleSessionRoutes(options: {
  database: Database;
  sessions: ConsoleSessions;
  clearCookie: (headers: Headers) => Record<string, string>;
}): Route[] {
  const { database, sessions } = options;
  return [
    route(
      {
        method: "get",
        path: "/v2/auth/sessions/current",
        operationId: "get_current_session",
        summary: "Who is calling",
        tag,
        access: own,
        responses: { 200: { description: "The user, the workspace and the session", schema: identity } },
        errors: [401],
      },
      async ({ caller }) => {
        const user = await findUser(database.sql, caller.userId);
        if (!user) throw sessionEnded();
        const session =
          caller.sessionId === undefined ? undefined : await sessions.findLive(caller.sessionId);
        const body: z.input<typeof identity> = {
          user,
          workspace_id: caller.workspaceId,
          role: caller.role,
          session: session ? toWire(session, session.id) : null,
        };
        return json(200, body);
      },
    ),
    route(
      {
        method: "patch",
        path: "/v2/auth/sessions/current",
        operationId: "update_current_session",
        summary: "Choose the workspace of this session",
        tag,
        access: own,
        body: z.object({
          workspace_id: id.describe("The workspace of this request, named in X-Tenant-Id as well."),
        }),
        responses: { 204: { description: "Chosen" } },
      },
      async ({ caller, body }) => {
        if (body.workspace_id.toLowerCase() !== caller.workspaceId) {
          throw new AppError({
            code: "workspace.forbidden",
            kind: "forbidden",
            message: "Send the same workspace as X-Tenant-Id, so that the access to it is checked.",
          });
        }
        await sessions.chooseWorkspace(sessionOf(caller), caller.workspaceId);
        return noContent();
      },
    ),
    route(
      {
        method: "delete",
        path: "/v2/auth/sessions/current",
        operationId: "sign_out",
        summary: "Sign out",
        tag,
        access: own,
        audit: { action: "session.signed_out" },
        responses: { 204: { description: "Signed out" } },
      },
      async ({ caller, request }) => {
        await sessions.revoke(caller, caller.userId, sessionOf(caller));
        return noContent(options.clearCookie(request.headers));
      },
    ),
    route(
      {
        method: "get",
        path: "/v2/auth/sessions",
        operationId: "list_sessions",
        summary: "List console sessions",
        description: "One's own, or as an admin those of a member; the one used last comes first.",
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
        description: "One's own but the one that asks, or as an admin all of a member.",
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

function sessionOf(caller: Caller): string {
  if (caller.sessionId !== undefined) return caller.sessionId;
  throw new AppError({
    code: "session.none",
    kind: "forbidden",
    message: "This request was not made in a console session. A key has none: revoke the key instead.",
  });
}
