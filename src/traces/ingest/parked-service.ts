import type { Clock } from "../../platform/clock.ts";
import type { RunWriting } from "../storage/run-storage.ts";
import type { RunWriter } from "./run-writer.ts";

const keepDays = 7;
const batch = 500;

/**
 * Applies patches that were parked at the same moment as their run was written, and deletes those that have waited for
 * a week. An empty patch is enough: writing a run applies the patches that wait for it.
 */
export async function foldOvertaken(options: {
  writing: RunWriting;
  clock: Clock;
  writer: RunWriter;
}): Promise<void> {
  const { writing, clock, writer } = options;
  const now = clock.now();
  for (const { id, workspaceId } of await writing.listOvertaken(batch)) {
    await writer.add({
      kind: "patch",
      workspaceId,
      id,
      projectId: undefined,
      receivedAt: now.toISOString(),
      fields: {},
      payloads: {},
      facts: { terms: [] },
      bytes: 0,
    });
  }
  await writing.settleOvertaken(batch);
  await writing.forgetWaiting(new Date(now.getTime() - keepDays * 86_400_000));
}
