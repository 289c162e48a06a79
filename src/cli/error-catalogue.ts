import type { ErrorCatalogue, KindsOf } from "../platform/errors.ts";

/** Every code the command line fails with, and its kind. */
export const commandLineErrors = {
  "client.address_invalid": "invalid",
  "client.connection_unknown": "not_found",
  "client.credentials_missing": "invalid",
  "client.deployment_unknown": "not_found",
  "client.env_file_unreadable": "invalid",
  "client.domain_pending": "conflict",
  "client.export_unknown": "not_found",
  "client.folder_not_empty": "conflict",
  "client.forbidden": "forbidden",
  "client.git_not_deployable": "conflict",
  "client.input_invalid": "invalid",
  "client.interrupted": "conflict",
  "client.key_missing": "invalid",
  "client.level_unknown": "invalid",
  "client.not_confirmed": "conflict",
  "client.not_connected": "conflict",
  "client.not_delivered": "conflict",
  "client.not_deployed": "conflict",
  "client.not_exported": "conflict",
  "client.not_found": "not_found",
  "client.not_treadle": "bad_gateway",
  "client.nothing_before": "conflict",
  "client.options_invalid": "invalid",
  "client.profile_unknown": "not_found",
  "client.profiles_unreadable": "invalid",
  "client.refused": "invalid",
  "client.revision_unknown": "not_found",
  "client.run_failed": "conflict",
  "client.secret_missing": "invalid",
  "client.secret_reference_invalid": "invalid",
  "client.server_failed": "bad_gateway",
  "client.server_keeps_traces": "conflict",
  "client.source_too_large": "too_large",
  "client.timeout": "conflict",
  "client.unauthorized": "unauthenticated",
  "client.unreachable": "unavailable",
  "client.version_mismatch": "bad_gateway",
  "client.worker_alone": "invalid",
} as const satisfies ErrorCatalogue;

declare module "../platform/errors.ts" {
  interface KnownErrors extends KindsOf<typeof commandLineErrors> {}
}
