import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import type { Authorization } from "./authorization.ts";
import type { ConsentService } from "./consent-service.ts";

const tag = "Auth Service (v2)";
const params = z.object({ auth_id: z.guid() });

const fields = {
  auth_id: z.guid(),
  provider_id: z.string(),
  scopes: z.array(z.string()),
  agent_id: z.string().nullable().describe("The agent that requested it, if it sent its id."),
  user_id: z.string().nullable().describe("The end user it is for, if not the owner."),
  for_agent: z.boolean().describe("The account will belong to the agent: any editor may connect theirs."),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
};

const consentView = z
  .object({
    ...fields,
    status: z.enum(["pending", "completed", "failed", "expired"]),
    url: z
      .string()
      .nullable()
      .describe("Where the person gives consent, while it is pending; only that person sees it."),
    failure: z.string().nullable().describe("A short code, such as access_denied or declined."),
  })
  .meta({ id: "AuthConsent" });

const openConsentView = z
  .object({ ...fields, url: z.string().describe("Where the person gives consent.") })
  .meta({ id: "AuthOpenConsent" });

/** How consents stand, without any token: for the people who give them, and for the pages they look at. */
export function openConsentRoutes(consents: ConsentService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/auth/authorizations",
        operationId: "list_open_authorizations",
        summary: "List the consents that wait for the caller",
        description:
          "The caller's own, and those that agents of the workspace requested for themselves. Newest first, at most 100.",
        tag,
        access: { kind: "workspace", role: "editor", scope: "accounts" },
        responses: { 200: { description: "The consents", schema: z.array(openConsentView) } },
      },
      async ({ caller }) => {
        const open = await consents.listOpen(caller);
        return json(
          200,
          open.map(({ authorization, url }) => ({ ...toFields(authorization), url })),
        );
      },
    ),
    route(
      {
        method: "get",
        path: "/v2/auth/authorizations/{auth_id}",
        operationId: "get_authorization",
        summary: "How a consent stands",
        description:
          "With `timeout`, responds as soon as the consent has ended, at the latest after that many seconds. Never contains a token. On loopback it needs no credential and acts as the first administrator, as the chat page does.",
        tag,
        access: { kind: "agent", role: "editor", scope: "accounts" },
        params,
        query: z.object({ timeout: z.coerce.number().min(0).max(60).default(0) }),
        responses: { 200: { description: "The consent", schema: consentView } },
        errors: [404],
      },
      async ({ caller, params, query, request, shutdown }) => {
        const signal = AbortSignal.any([request.signal, shutdown]);
        const { authorization, status, url } = await consents.view(
          caller,
          params.auth_id,
          query.timeout * 1000,
          signal,
        );
        return json(200, { ...toFields(authorization), status, url, failure: authorization.failure });
      },
    ),
    route(
      {
        method: "delete",
        path: "/v2/auth/authorizations/{auth_id}",
        operationId: "decline_authorization",
        summary: "Put a consent off",
        description: "Its URL stops working, and a request that waits for it gets `denied`.",
        tag,
        access: { kind: "workspace", role: "editor", scope: "accounts" },
        audit: { action: "oauth_consent.declined", target: { kind: "oauth_consent", id: "params.auth_id" } },
        params,
        responses: { 204: { description: "Declined, or it had already ended" } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await consents.decline(caller, params.auth_id);
        return noContent();
      },
    ),
  ];
}

function toFields(authorization: Authorization) {
  const { id, provider_id, scopes, agent_id, subject, subject_kind, created_at, expires_at } = authorization;
  return {
    auth_id: id,
    provider_id,
    scopes,
    agent_id: agent_id === "" ? null : agent_id,
    user_id: subject === "" ? null : subject,
    for_agent: subject_kind === "agent",
    created_at: created_at.toISOString(),
    expires_at: expires_at.toISOString(),
  };
}
