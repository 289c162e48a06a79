import { withoutAuthKeys } from "../auth/principal.ts";

type Config = { configurable?: Record<string, unknown> };

/** Without the library's own keys, which hold functions and connections, and without who the caller was. */
export function publicConfigurable(
  configurable: Record<string, unknown> | undefined,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(withoutAuthKeys(configurable ?? {})).filter(([key]) => !key.startsWith("__")),
  );
}

export type CheckpointView = {
  thread_id: unknown;
  checkpoint_id: unknown;
  checkpoint_ns: unknown;
  checkpoint_map: unknown;
};

export function checkpointOf(config: Config | undefined): CheckpointView | null {
  const configurable = config?.configurable;
  if (!configurable) return null;
  return {
    thread_id: configurable.thread_id ?? null,
    checkpoint_id: configurable.checkpoint_id ?? null,
    checkpoint_ns: configurable.checkpoint_ns ?? "",
    checkpoint_map: configurable.checkpoint_map ?? null,
  };
}
