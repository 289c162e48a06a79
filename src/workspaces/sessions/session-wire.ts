import { z } from "zod";
import { id, time } from "../wire/fields.ts";
import { type ConsoleSession, signInMethods } from "./console-session.ts";

export const sessionBody = z
  .object({
    id,
    user_id: id,
    workspace_id: id.nullable().describe("The workspace of requests that name none."),
    api_key_id: id.nullable().describe("The key it was started with: revoking it ends the session."),
    method: z.enum(signInMethods),
    user_agent: z.string(),
    address: z.string().nullable(),
    created_at: time,
    last_seen_at: time,
    expires_at: time.describe(
      "When it ends if it is not used; using it extends this, up to the maximum lifetime.",
    ),
    current: z.boolean().describe("The session of this very request."),
  })
  .meta({ id: "ConsoleSession" });

export function toWire(session: ConsoleSession, currentId: string | undefined): z.input<typeof sessionBody> {
  const end = session.idle_expires_at < session.expires_at ? session.idle_expires_at : session.expires_at;
  return {
    id: session.id,
    user_id: session.user_id,
    workspace_id: session.workspace_id,
    api_key_id: session.api_key_id,
    method: session.method,
    user_agent: session.user_agent,
    address: session.address,
    created_at: session.created_at.toISOString(),
    last_seen_at: session.last_seen_at.toISOString(),
    expires_at: end.toISOString(),
    current: session.id === currentId,
  };
}
