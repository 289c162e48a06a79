import { AppError } from "../../platform/errors.ts";

/** The time a build may take; waiting for its turn does not count. */
export function createBuildDeadline(timeoutMs: number, outer: AbortSignal) {
  const tooLong = new AbortController();
  let leftMs = timeoutMs;
  let since: number | null = null;
  let timer: NodeJS.Timeout | undefined;

  function left(): number {
    return Math.max(1, leftMs - (since === null ? 0 : performance.now() - since));
  }
  function pause(): void {
    leftMs = left();
    since = null;
    clearTimeout(timer);
  }
  function go(): void {
    pause();
    since = performance.now();
    timer = setTimeout(() => tooLong.abort(tooSlow(timeoutMs)), leftMs);
  }

  go();
  return {
    signal: AbortSignal.any([outer, tooLong.signal]),
    leftMs: left,
    pause,
    go,
    end: () => clearTimeout(timer),
  };
}

function tooSlow(timeoutMs: number): AppError {
  return new AppError({
    code: "build.timeout",
    kind: "invalid",
    message: `The build did not end within ${Math.round(timeoutMs / 1000)} s, the longest one may take. Make it faster, or raise TREADLE_BUILD_TIMEOUT_SECONDS.`,
  });
}
