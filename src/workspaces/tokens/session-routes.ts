import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { id, role, time } from "../wire/fields.ts";
import type { SessionService } from "./session-service.ts";

const session = z.object({
  token: z.string().describe("Send it as `Authorization: Bearer`."),
  token_type: z.literal("bearer"),
  expires_at: time,
  workspace_id: id,
  user_id: id,
  role,
});

export function sessionRoutes(service: SessionService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/v2/auth/sessions",
        operationId: "start_session",
        summary: "Start a session",
        description:
          "Returns a signed token for the workspace of the request. It is valid for at most an hour, and not longer than the API key that started it.",
        tag: "Sessions",
        access: { kind: "workspace", role: "viewer", scope: "read" },
        audit: { action: "session.started", details: { expires_at: "answer.expires_at" } },
        responses: { 201: { description: "The session", schema: session } },
      },
      async ({ caller }) => {
        const { token, expiresAt } = await service.start(caller);
        const body: z.input<typeof session> = {
          token,
          token_type: "bearer",
          expires_at: expiresAt.toISOString(),
          workspace_id: caller.workspaceId,
          user_id: caller.userId,
          role: caller.role,
        };
        return json(201, body, { "cache-control": "no-store" });
      },
    ),
  ];
}
