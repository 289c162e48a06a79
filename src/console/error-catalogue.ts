import type { ErrorCatalogue, KindsOf } from "../platform/errors.ts";

/** Every code this area fails with, and its kind. */
export const consoleErrors = {
  "console.studio_link_used": "unauthenticated",
  "console.too_many_listeners": "rate_limited",
} as const satisfies ErrorCatalogue;

declare module "../platform/errors.ts" {
  interface KnownErrors extends KindsOf<typeof consoleErrors> {}
}
