import type { ErrorCatalogue, KindsOf } from "../platform/errors.ts";

/** Every code this area fails with, and its kind. */
export const alertErrors = {
  "alert.not_found": "not_found",
  "alert.refused": "invalid",
  "alert.scope_not_found": "not_found",
  "alert.tested_just_now": "rate_limited",
  "alert.too_many": "conflict",
  "alert.webhook_refused": "bad_gateway",
} as const satisfies ErrorCatalogue;

declare module "../platform/errors.ts" {
  interface KnownErrors extends KindsOf<typeof alertErrors> {}
}
