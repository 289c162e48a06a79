import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { agentIdSchema, scopeList } from "../tokens/token-schemas.ts";
import type { AuthenticateOutcome, AuthorizationService } from "./authorization-service.ts";
import type { ConsentService, WaitOutcome } from "./consent-service.ts";

const tag = "Auth Service (v2)";
const writes = { kind: "workspace", role: "editor", scope: "accounts" } as const;

const authenticateRequest = z
  .object({
    provider: z.string().min(1).max(200).describe("The provider_id."),
    scopes: scopeList,
    user_id: z
      .string()
      .max(255)
      .nullish()
      .describe("The end user the token is for; part of the token's identity."),
    ls_user_id: z.string().max(255).nullish().describe("Used where user_id is not given."),
    agent_id: agentIdSchema.nullish().describe("The agent that requests the token."),
    force_new: z.boolean().default(false).describe("Start a consent for another account."),
    token_id: z.guid().nullish().describe("Chooses one of several accounts; without it, the default one."),
    redirect_uri: z.string().max(2000).nullish().describe("One of the provider's allowed_redirect_uris."),
    is_default: z.boolean().default(true).describe("Make the new account the default."),
    check_only: z.boolean().default(false).describe("Never start a consent."),
    use_agent_builder_public_oauth: z
      .boolean()
      .refine(
        (asked) => !asked,
        "There is no public OAuth app here: leave it out, and name one of your providers",
      )
      .optional(),
  })
  .meta({ id: "AuthAuthenticateRequest" });

const authenticateResponse = z
  .object({
    status: z.enum(["completed", "pending", "connection_required", "token_expired"]),
    url: z
      .string()
      .optional()
      .describe(
        "Where the person gives consent. With `agent_id` and without `redirect_uri` it is a page of this server, which can be shown in a thread: it redirects only the person who started the consent.",
      ),
    auth_id: z.string().optional().describe("For GET /v2/auth/wait/{auth_id}."),
    token: z.string().optional().describe("The access token."),
    token_id: z.guid().optional(),
    user_id: z.string().nullable().optional(),
    expires_at: z.iso.datetime().nullable().optional(),
    metadata: z.record(z.string(), z.unknown()).nullable().optional(),
  })
  .meta({ id: "AuthAuthenticateResponse" });

const waitResponse = z
  .object({
    status: z.enum(["completed", "pending", "timeout", "not_found", "denied", "failed"]),
    token: z.string().optional(),
    expires_at: z.iso.datetime().nullable().optional(),
    detail: z.string().optional(),
  })
  .meta({ id: "AuthWaitResponse" });

const callbackRequest = z
  .object({
    state: z.string().min(1).max(500),
    code: z.string().min(1).max(10_000).optional(),
    iss: z.string().max(2000).optional(),
    error: z.string().max(200).optional(),
    error_description: z.string().max(10_000).optional(),
  })
  .refine((body) => body.code !== undefined || body.error !== undefined, {
    path: ["code"],
    message: "Field required",
  })
  .meta({ id: "AuthCallbackRequest" });

export function authorizationRoutes(service: AuthorizationService, consents: ConsentService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/v2/auth/authenticate",
        operationId: "authenticate",
        summary: "Get an access token, or the address where a person gives consent",
        description:
          "`completed` carries the access token, never a refresh token. `pending` carries `url` for the person and `auth_id` to wait for. `connection_required`: nothing is connected and no consent was started. `token_expired`: the stored token cannot be refreshed.",
        tag,
        access: writes,
        audit: [
          {
            action: "oauth_token.read",
            target: { kind: "oauth_token", id: "answer.token_id" },
            details: { provider: "body.provider", agent_id: "body.agent_id" },
            when: { fact: "answer.status", is: "completed" },
          },
          {
            action: "oauth_consent.started",
            target: { kind: "oauth_provider", id: "body.provider" },
            details: { agent_id: "body.agent_id", auth_id: "answer.auth_id" },
            when: { fact: "answer.status", is: "pending" },
          },
        ],
        body: authenticateRequest,
        responses: { 200: { description: "The outcome", schema: authenticateResponse } },
        errors: [404, 502],
      },
      async ({ caller, body }) => json(200, toView(await service.authenticate(caller, body))),
    ),
    route(
      {
        method: "get",
        path: "/v2/auth/wait/{auth_id}",
        operationId: "wait_for_authorization",
        summary: "Wait until a consent is given",
        description:
          "Responds as soon as the consent is given, or after `timeout` seconds. `denied`: the person refused. `failed`: the provider did not complete it. `not_found`: there is none, or it has expired. Only the user who started it may call this.",
        tag,
        access: writes,
        audit: {
          action: "oauth_token.read",
          target: { kind: "oauth_consent", id: "params.auth_id" },
          when: { fact: "answer.status", is: "completed" },
        },
        params: z.object({ auth_id: z.string().max(100) }),
        query: z.object({ timeout: z.coerce.number().min(0).max(600).default(30) }),
        responses: { 200: { description: "The outcome", schema: waitResponse } },
      },
      async ({ caller, params, query, request, shutdown }) => {
        const signal = AbortSignal.any([request.signal, shutdown]);
        return json(
          200,
          toWaitView(await consents.wait(caller, params.auth_id, query.timeout * 1000, signal)),
        );
      },
    ),
    route(
      {
        method: "post",
        path: "/v2/auth/callback/{provider_id}",
        operationId: "finish_authorization",
        summary: "Finish a consent with the provider's response",
        description:
          "Works once, and only for the user who started the consent (for an agent's own account: any editor of the workspace). On loopback the callback page needs no credential and acts as the first administrator.",
        tag,
        access: { kind: "agent", role: "editor", scope: "accounts" },
        audit: {
          action: "oauth_consent.given",
          target: { kind: "oauth_token", id: "answer.token_id" },
          details: { provider: "params.provider_id" },
        },
        params: z.object({ provider_id: z.string().min(1).max(200) }),
        body: callbackRequest,
        responses: {
          200: {
            description: "Connected",
            schema: z.object({ status: z.literal("completed"), token_id: z.guid(), provider_id: z.string() }),
          },
        },
        errors: [400, 502],
      },
      async ({ caller, params, body }) => {
        const { tokenId } = await consents.finish(caller, params.provider_id, body);
        return json(200, { status: "completed", token_id: tokenId, provider_id: params.provider_id });
      },
    ),
  ];
}

function toView(outcome: AuthenticateOutcome): z.input<typeof authenticateResponse> {
  if (outcome.status === "completed") {
    const { details } = outcome;
    return {
      status: "completed",
      token: outcome.token,
      token_id: details.id,
      user_id: details.subject === "" ? null : details.subject,
      expires_at: details.expires_at?.toISOString() ?? null,
      metadata: details.metadata,
    };
  }
  return "url" in outcome
    ? { status: outcome.status, url: outcome.url, auth_id: outcome.authId }
    : { status: outcome.status };
}

function toWaitView(outcome: WaitOutcome): z.input<typeof waitResponse> {
  if (outcome.status === "completed") {
    const expires_at = outcome.expiresAt?.toISOString() ?? null;
    return { status: "completed", token: outcome.token, expires_at };
  }
  return outcome;
}
