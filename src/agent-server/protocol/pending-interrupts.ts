import type { ProtocolThread } from "./protocol-store.ts";

export type PendingInterrupt = { id: string; value: unknown };

/**
 * What the thread waits for. While a run is active nothing does, whatever the row still holds of the run before;
 * and a cancelled run left nothing to answer either.
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
