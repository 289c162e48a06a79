import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import type { Member } from "../identity/member.ts";
import { id, name, role, time } from "../wire/fields.ts";
import { pageBody, pageOf, pageQuery } from "../wire/page.ts";
import type { MemberService } from "./member-service.ts";

const member = z
  .object({
    user_id: id,
    email: z.string(),
    name: z.string(),
    role,
    signed_in_at: time
      .nullable()
      .describe("The first time the person signed in to the console; null: never."),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: "Member" });

const tag = "Members";
const params = z.object({ user_id: id });
const one = { description: "The member", schema: member };

export function memberRoutes(service: MemberService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/members",
        operationId: "list_members",
        summary: "List the members of the workspace",
        tag,
        access: { kind: "workspace", role: "viewer", scope: "read" },
        query: pageQuery,
        responses: { 200: { description: "A page of members, oldest first", schema: pageOf(member) } },
      },
      async ({ caller, query }) =>
        json(200, pageBody((await service.list(caller, query)).map(toWire), query)),
    ),
    route(
      {
        method: "post",
        path: "/v2/members",
        operationId: "add_member",
        summary: "Add a member to the workspace",
        description:
          "An existing user of the organization with this e-mail address is added unchanged; otherwise one is created.",
        tag,
        access: { kind: "workspace", role: "admin", scope: "admin" },
        audit: {
          action: "member.added",
          target: { kind: "member", id: "answer.user_id", name: "body.email" },
          details: { role: "body.role" },
        },
        body: z.object({ email: z.email().max(320), name: name.optional(), role: role.default("viewer") }),
        idempotent: true,
        responses: { 201: one },
        errors: [409],
      },
      async ({ caller, body }) => json(201, toWire(await service.add(caller, body))),
    ),
    route(
      {
        method: "get",
        path: "/v2/members/{user_id}",
        operationId: "get_member",
        summary: "Read a member",
        tag,
        access: { kind: "workspace", role: "viewer", scope: "read" },
        params,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params }) => json(200, toWire(await service.get(caller, params.user_id))),
    ),
    route(
      {
        method: "patch",
        path: "/v2/members/{user_id}",
        operationId: "update_member",
        summary: "Change a member's role",
        tag,
        access: { kind: "workspace", role: "admin", scope: "admin" },
        audit: {
          action: "member.changed",
          target: { kind: "member", id: "params.user_id", name: "answer.email" },
          details: { role: "body.role" },
        },
        params,
        body: z.object({ role }),
        responses: { 200: one },
        errors: [404, 409],
      },
      async ({ caller, params, body }) =>
        json(200, toWire(await service.changeRole(caller, params.user_id, body.role))),
    ),
    route(
      {
        method: "delete",
        path: "/v2/members/{user_id}",
        operationId: "remove_member",
        summary: "Remove a member from the workspace",
        description: "The user's keys for this workspace are revoked. Other workspaces are not affected.",
        tag,
        access: { kind: "workspace", role: "admin", scope: "admin" },
        audit: { action: "member.removed", target: { kind: "member", id: "params.user_id" } },
        params,
        responses: { 204: { description: "Removed" } },
        errors: [404, 409],
      },
      async ({ caller, params }) => {
        await service.remove(caller, params.user_id);
        return noContent();
      },
    ),
  ];
}

function toWire(found: Member): z.input<typeof member> {
  return {
    user_id: found.user_id,
    email: found.email,
    name: found.name,
    role: found.role,
    signed_in_at: found.signed_in_at?.toISOString() ?? null,
    created_at: found.created_at.toISOString(),
    updated_at: found.updated_at.toISOString(),
  };
}
