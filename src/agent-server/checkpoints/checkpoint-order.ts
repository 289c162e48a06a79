import { setTimeout as pause } from "node:timers/promises";
import { AppError } from "../../platform/errors.ts";

/** A clock that is further behind than this is set wrong, and waiting for it would be a standstill. */
const longestWaitMs = 5_000;
/** Between 1582-10-15, where the times of these ids begin, and 1970, in units of 100 ns. */
const epoch = 0x01b21dd213814000n;

/** The millisecond in which a checkpoint's id was made; undefined for ids that are no times. */
export function millisecondOf(checkpointId: string): number | undefined {
  const [high, middle, low] = checkpointId.split("-");
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-6[0-9a-f]{3}-/i.test(checkpointId)) return undefined;
  const time = BigInt(`0x${high}${middle}${low!.slice(1)}`);
  return Number((time - epoch) / 10_000n);
}

/**
 * Resolves when a new id of the JavaScript library would be later than this one: a thread's state is its latest
 * checkpoint, no matter which process wrote it. The library's ids have a resolution of milliseconds. Ids from Python,
 * or from a machine whose clock is ahead, may be later within the same millisecond.
 */
export async function untilLater(checkpointId: string, now: () => number = Date.now): Promise<void> {
  const made = millisecondOf(checkpointId);
  if (made === undefined) return;
  for (let waitMs = made + 1 - now(); waitMs > 0; waitMs = made + 1 - now()) {
    if (waitMs > longestWaitMs) throw clockBehind(checkpointId, waitMs);
    await pause(waitMs);
  }
}

function clockBehind(checkpointId: string, waitMs: number): AppError {
  const seconds = Math.ceil(waitMs / 1_000);
  return new AppError({
    code: "checkpoint.clock_behind",
    kind: "unavailable",
    message: `The clock of this server is ${seconds} s behind checkpoint ${checkpointId}, so a run that continues from it would not become the thread's state. Correct the clock, then run again.`,
  });
}
