import type { ErrorCatalogue, KindsOf } from "../platform/errors.ts";

/** Every code this area fails with, and its kind. */
export const authServiceErrors = {
  "authorization.denied": "invalid",
  "authorization.invalid_state": "invalid",
  "authorization.not_found": "not_found",
  "authorization.not_started": "internal",
  "authorization.other_user": "forbidden",
  "authorization.refused": "invalid",
  "connection.not_found": "not_found",
  "connection.not_owner": "forbidden",
  "oauth.provider_failed": "bad_gateway",
  "oauth.refused": "bad_gateway",
  "oauth.unreachable": "bad_gateway",
  "oauth.unusable_answer": "bad_gateway",
  "provider.discovery_failed": "invalid",
  "provider.exists": "conflict",
  "provider.in_use": "conflict",
  "provider.not_found": "not_found",
  "token.busy": "unavailable",
  "token.changed": "conflict",
  "token.departed_not_revoked": "bad_gateway",
  "token.empty": "invalid",
  "token.not_found": "not_found",
  "token.not_owner": "forbidden",
  "token.not_refreshed": "bad_gateway",
  "token.not_revoked": "bad_gateway",
  "token.pending_not_revoked": "bad_gateway",
  "token_event.not_found": "not_found",
  "token_event.webhook_refused": "bad_gateway",
} as const satisfies ErrorCatalogue;

declare module "../platform/errors.ts" {
  interface KnownErrors extends KindsOf<typeof authServiceErrors> {}
}
