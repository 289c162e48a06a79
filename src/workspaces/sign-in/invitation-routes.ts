import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import type { MemberService } from "../members/member-service.ts";
import { id, time } from "../wire/fields.ts";
import { type SignInCodes, signInLink } from "./sign-in-code-service.ts";

const invitation = z
  .object({
    url: z.string().describe("Signs the member in, once. Shown only once; only its hash is stored."),
    expires_at: time,
  })
  .meta({ id: "Invitation" });

/** Links for members who have not signed in yet. */
export function invitationRoutes(options: {
  members: MemberService;
  codes: SignInCodes;
  publicUrl: () => string | undefined;
  /** False: people sign in at the provider only. */
  allowed: boolean;
}): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/v2/members/{user_id}/invitation",
        operationId: "invite_member",
        summary: "Create a link with which a new member can sign in",
        description:
          "It works once, within 7 days, and only if the member has never signed in and is in no other workspace, because its creator could open it too. A new link ends the previous one.",
        tag: "Members",
        access: { kind: "workspace", role: "admin", scope: "admin" },
        audit: { action: "member.invited", target: { kind: "member", id: "params.user_id" } },
        params: z.object({ user_id: id }),
        responses: { 201: { description: "The link", schema: invitation } },
        errors: [404, 409],
      },
      async ({ caller, params, request }) => {
        const { organizationId, workspaceId } = caller;
        const member = await options.members.get(caller, params.user_id);
        if (!options.allowed)
          throw refused("People sign in with your provider here, so there are no invitation links.");
        const made = await options.codes.invite({ organizationId, workspaceId, userId: member.user_id });
        if (!made)
          throw refused(
            `${member.email} has signed in before or is in another workspace too, so a link that you know must not sign them in. They can sign in with their own key, or the operator can create a link with \`treadle login-link --email ${member.email}\`.`,
          );
        const url = options.publicUrl() ?? new URL(request.url).origin;
        return json(
          201,
          { url: signInLink(url, made.code), expires_at: made.expiresAt.toISOString() },
          { "cache-control": "no-store" },
        );
      },
    ),
  ];
}

function refused(message: string): AppError {
  return new AppError({ code: "member.not_invitable", kind: "conflict", message });
}
