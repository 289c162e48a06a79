import { AppError } from "../../platform/errors.ts";

/** The time a build may take; waiting for its turn does not count. */
export class BuildDeadline {
  readonly signal: AbortSignal;
  readonly #timeoutMs: number;
  readonly #tooLong = new AbortController();
  #leftMs: number;
  #since: number | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number, outer: AbortSignal) {
    this.#timeoutMs = timeoutMs;
    this.#leftMs = timeoutMs;
    this.signal = AbortSignal.any([outer, this.#tooLong.signal]);
    this.go();
  }

  leftMs(): number {
    return Math.max(1, this.#leftMs - (this.#since === null ? 0 : performance.now() - this.#since));
  }

  pause(): void {
    this.#leftMs = this.leftMs();
    this.#since = null;
    clearTimeout(this.#timer);
  }

  go(): void {
    this.pause();
    this.#since = performance.now();
    this.#timer = setTimeout(() => this.#tooLong.abort(tooSlow(this.#timeoutMs)), this.#leftMs);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

function tooSlow(timeoutMs: number): AppError {
  return new AppError({
    code: "build.timeout",
    kind: "invalid",
    message: `The build did not finish within the timeout of ${Math.round(timeoutMs / 1000)} s. Make it faster, or raise TREADLE_BUILD_TIMEOUT_SECONDS.`,
  });
}
