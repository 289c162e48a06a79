import type { ProtocolThread } from "./protocol-store.ts";

export type PendingInterrupt = { id: string; value: unknown };

/**
 * The interrupts the thread waits for. None while a run is active, even if the row still holds those of the run before.
 * A cancelled run has none either.
 */
export function pendingInterrupts(
  thread: Pick<ProtocolThread, "status" | "interrupts_json">,
): PendingInterrupt[] {
  if (thread.status !== "interrupted") return [];
  const byTask = JSON.parse(thread.interrupts_json) as Record<string, { id?: string; value?: unknown }[]>;
  return Object.values(byTask)
    .flat()
    .map(({ id, value }) => ({ id: id ?? "", value }));
}
