import type { ErrorCatalogue, KindsOf } from "../platform/errors.ts";

/** Every code this area fails with, and its kind. */
export const chatErrors = {
  "chat.no_such_checkpoint": "not_found",
  "chat.no_such_run": "not_found",
  "chat.no_such_thread": "not_found",
  "chat.state_refused": "invalid",
  "chat.thread_busy": "conflict",
  "chat.too_many_threads": "unavailable",
} as const satisfies ErrorCatalogue;

declare module "../platform/errors.ts" {
  interface KnownErrors extends KindsOf<typeof chatErrors> {}
}
