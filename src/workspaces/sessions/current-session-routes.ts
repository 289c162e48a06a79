import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { scopes } from "../../platform/http/access/scope.ts";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { id, role } from "../wire/fields.ts";
import { sessionEnded } from "./console-session.ts";
import type { ConsoleSessions } from "./console-session-service.ts";
import { findUser } from "./console-session-store.ts";
import { sessionBody, toWire } from "./session-wire.ts";

const tag = "Sessions";
/** Every credential, with any scopes, may ask who it is and sign out. */
const own = { kind: "workspace", role: "viewer", scope: scopes } as const;
const identity = z
  .object({
    user: z.object({ id, email: z.string(), name: z.string() }),
    workspace_id: id,
    role,
    session: sessionBody.nullable().describe("Null if the request was sent with a key."),
  })
  .meta({ id: "CurrentSession" });

/** The session of this very request. */
export function currentSessionRoutes(options: {
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
            message: "Send the same workspace as X-Tenant-Id, so that access to it is checked.",
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
