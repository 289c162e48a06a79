import type { Deployment } from "./deployment.ts";

export const sleepStates = ["awake", "falling_asleep", "asleep", "waking"] as const;
export type SleepState = (typeof sleepStates)[number];

/**
 * Every move. A deployment that falls asleep gets no new requests; a request, or work that is found, wakes it. From
 * `asleep` to `awake` it goes with a new revision, whose server has just begun to serve.
 */
export const sleepTransitions: Record<SleepState, readonly SleepState[]> = {
  awake: ["falling_asleep"],
  falling_asleep: ["awake", "asleep", "waking"],
  asleep: ["awake", "waking"],
  waking: ["awake"],
};

export function sleepStatesBefore(state: SleepState): SleepState[] {
  return sleepStates.filter((from) => sleepTransitions[from].includes(state));
}

/** What a deployment waits for by itself; `isBusy`: something is due now. */
export type AwaitedWork = { isBusy: boolean; dueAt: Date | null };

/** Types whose name says so. */
const sleepingTypes: readonly (string | null)[] = ["dev_free_zero", "dev_zero", "serverless"];

/** `min_scale` decides; without one, the type of the deployment, and that it is a preview. */
export function maySleep({
  source_config: { resource_spec: spec, deployment_type: type, listener_id: listener },
  preview_of: previewOf,
}: Pick<Deployment, "source_config" | "preview_of">): boolean {
  if (listener !== null) return false;
  if (typeof spec?.min_scale === "number") return spec.min_scale === 0;
  return previewOf !== null || sleepingTypes.includes(type);
}
