import { z } from "zod";
import type { Connection } from "./connection-store.ts";
import type { Token } from "./token.ts";
import { type TokenEvent, tokenEventTypes } from "./token-event.ts";

const time = z.iso.datetime();

export const scopeList = z
  .array(z.string().min(1).max(500).regex(/^\S+$/, "must be one scope without spaces"))
  .max(200);
export const agentIdSchema = z.string().min(1).max(255);

export const tokenSummary = z
  .object({
    id: z.guid(),
    provider_id: z.string(),
    provider_account_label: z.string().nullable(),
    scopes: z.array(z.string()),
    expires_at: time.nullable(),
    is_default: z.boolean(),
    created_at: time,
    updated_at: time,
    status: z.enum(["active", "dead"]).describe("dead: the provider no longer accepts it; connect again."),
    refreshes: z
      .boolean()
      .describe("Whether it is refreshed automatically; otherwise it is used until it expires."),
    agent_id: z.string().nullable(),
    user_id: z.string().nullable().describe("The end user it was granted for."),
  })
  .meta({ id: "OAuthTokenSummary" });

export const tokenImportFields = {
  access_token: z.string().min(1).max(20_000),
  refresh_token: z.string().min(1).max(20_000).nullish(),
  expires_in_seconds: z
    .number()
    .int()
    .min(1)
    .max(10 * 365 * 86_400)
    .nullish(),
  scopes: scopeList.default([]),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  is_default: z.boolean().default(true),
};

export const connectionView = z
  .object({
    id: z.guid(),
    agent_id: z.string(),
    oauth_token_id: z.guid(),
    provider_id: z.string(),
    provider_account_label: z.string().nullable(),
    scopes: z.array(z.string()),
    expires_at: time.nullable(),
    created_by: z.string(),
    created_at: time,
  })
  .meta({ id: "AgentConnection" });

export const tokenEventView = z
  .object({
    id: z.guid(),
    provider_id: z.string(),
    token_id: z.guid(),
    agent_id: z.string().nullable(),
    event_type: z.enum(tokenEventTypes),
    reason: z.string().nullable(),
    source: z.string().nullable(),
    provider_account_label: z.string().nullable(),
    scopes: z.array(z.string()),
    detail: z.string().nullable(),
    acknowledged_at: time.nullable(),
    created_at: time,
  })
  .meta({ id: "OAuthTokenEvent" });

export function toTokenSummary(token: Token): z.input<typeof tokenSummary> {
  return {
    id: token.id,
    provider_id: token.provider_id,
    provider_account_label: token.provider_account_label,
    scopes: token.scopes,
    expires_at: token.expires_at?.toISOString() ?? null,
    is_default: token.is_default,
    created_at: token.created_at.toISOString(),
    updated_at: token.updated_at.toISOString(),
    status: token.status,
    refreshes: token.refresh_token_sealed !== null,
    agent_id: token.agent_id === "" ? null : token.agent_id,
    user_id: token.subject === "" ? null : token.subject,
  };
}

export function toConnectionView(connection: Connection): z.input<typeof connectionView> {
  return {
    ...connection,
    expires_at: connection.expires_at?.toISOString() ?? null,
    created_at: connection.created_at.toISOString(),
  };
}

export function toTokenEventView(event: TokenEvent): z.input<typeof tokenEventView> {
  const { workspace_id, owner_id, ...rest } = event;
  return {
    ...rest,
    acknowledged_at: event.acknowledged_at?.toISOString() ?? null,
    created_at: event.created_at.toISOString(),
  };
}
