import { AppError } from "../../platform/errors.ts";

/** Runs until it is done, takes too long, or somebody presses Ctrl-C; `goesOn` is printed then: what becomes of it. */
export async function waitUnlessInterrupted<T>(
  options: { timeoutMs: number; goesOn: string },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const onSignal = () =>
    stop.abort(
      new AppError({
        code: "client.interrupted",
        kind: "conflict",
        message: `Stopped waiting. ${options.goesOn}`,
      }),
    );
  const onTimeout = () =>
    stop.abort(
      new AppError({
        code: "client.timeout",
        kind: "conflict",
        message: `Not done after ${options.timeoutMs / 1000} s. ${options.goesOn}`,
      }),
    );
  // A timer has 32 bits; a wait longer than 24 days has no timeout.
  const timer = options.timeoutMs < 2 ** 31 ? setTimeout(onTimeout, options.timeoutMs) : undefined;
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  const stopped = new Promise<never>((_resolve, reject) => {
    stop.signal.addEventListener("abort", () => reject(stop.signal.reason), { once: true });
  });
  try {
    return await Promise.race([work(stop.signal), stopped]);
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    clearTimeout(timer);
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}
