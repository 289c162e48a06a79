import type { Clock } from "../../platform/clock.ts";
import type { RunWriting } from "../storage/run-storage.ts";
import type { RunWriter } from "./run-writer.ts";

const keepDays = 7;
const batch = 500;
/** How far back an ordinary round looks. */
const lookBackMs = 15 * 60_000;
const wholeEveryMs = 3_600_000;

export type OvertakenRunsOptions = { writing: RunWriting; clock: Clock; writer: RunWriter };

/**
 * Applies patches that were parked at the same moment as their run was written, and deletes those that have waited for
 * a week. Nearly always that is so from the moment in which it comes, so only what came lately is looked at. The rest, such
 * as what a server could no longer do that was killed, is found by a round over everything: the first of a process, and
 * one every hour.
 */
export class OvertakenRuns {
  readonly #options: OvertakenRunsOptions;
  #wholeAt = Number.NEGATIVE_INFINITY;

  constructor(options: OvertakenRunsOptions) {
    this.#options = options;
  }

  async fold(): Promise<void> {
    const { writing, clock, writer } = this.#options;
    const now = clock.now();
    const isWhole = now.getTime() - this.#wholeAt >= wholeEveryMs;
    const since = isWhole ? undefined : new Date(now.getTime() - lookBackMs);
    const found = await writing.listOvertaken(batch, since);
    for (const { id, workspaceId } of found) {
      // An empty patch is enough: writing a run applies the patches that wait for it.
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
    const settled = await writing.settleOvertaken(batch, since);
    await writing.forgetWaiting(new Date(now.getTime() - keepDays * 86_400_000));
    const isAll = found.length < batch && settled < batch;
    if (isWhole && isAll) this.#wholeAt = now.getTime();
  }
}
