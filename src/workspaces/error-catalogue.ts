import type { ErrorCatalogue, KindsOf } from "../platform/errors.ts";

/** Every code this area fails with, and its kind. */
export const workspaceErrors = {
  "api_key.forbidden": "forbidden",
  "api_key.not_found": "not_found",
  "auth.bad_credential": "unauthenticated",
  "auth.not_ready": "unavailable",
  "credentials.unreadable": "internal",
  "deployment_token.needs_credential": "forbidden",
  "installation.forbidden": "forbidden",
  "member.exists": "conflict",
  "member.not_found": "not_found",
  "member.not_invitable": "conflict",
  "model_key.not_found": "not_found",
  "model_key.unknown_provider": "not_found",
  "organization.not_found": "not_found",
  "session.ended": "unauthenticated",
  "session.forbidden": "forbidden",
  "session.needs_key": "forbidden",
  "session.none": "forbidden",
  "session.not_found": "not_found",
  "sign_in.foreign_page": "forbidden",
  "sign_in.provider_required": "forbidden",
  "sign_in.service_key": "forbidden",
  "sign_in.somebody_else": "conflict",
  "workspace.forbidden": "forbidden",
  "workspace.foreign": "invalid",
  "workspace.in_use": "conflict",
  "workspace.last_admin": "conflict",
  "workspace.none": "forbidden",
  "workspace.not_found": "not_found",
  "workspace.unspecified": "forbidden",
} as const satisfies ErrorCatalogue;

declare module "../platform/errors.ts" {
  interface KnownErrors extends KindsOf<typeof workspaceErrors> {}
}
