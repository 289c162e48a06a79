/** `exitCode` is for an end that was not orderly; a `clean` reason stopped in order ends with 0. */
export type StopReason = { name: string; exitCode: number; clean: boolean };

const signalExitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Resolves with the first reason to stop. The first signal asks for an orderly stop, the second ends the process where it stands. A terminal
 * sends Ctrl-C to the whole process group and npm forwards it once more, so what arrives together
 * counts as one.
 */
export function watchStopSignals(
  onSecond: (reason: StopReason) => void,
  togetherMs = 500,
): Promise<StopReason> {
  let firstAt: number | undefined;
  let resolveFirst: (reason: StopReason) => void = () => {};
  const first = new Promise<StopReason>((resolve) => {
    resolveFirst = resolve;
  });
  const receive = (reason: StopReason) => {
    if (firstAt === undefined) {
      firstAt = performance.now();
      resolveFirst(reason);
    } else if (performance.now() - firstAt > togetherMs) {
      onSecond(reason);
    }
  };
  for (const [name, exitCode] of Object.entries(signalExitCodes)) {
    process.on(name as keyof typeof signalExitCodes, () => receive({ name, exitCode, clean: true }));
  }
  if (process.channel !== undefined && process.channel !== null) {
    // The launcher holds the other end; it was killed when this closes.
    process.once("disconnect", () => receive({ name: "the end of its launcher", exitCode: 1, clean: true }));
    process.channel.unref();
  }
  return first;
}
