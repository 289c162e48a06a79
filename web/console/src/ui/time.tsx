import { useSyncExternalStore } from "react";
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatExact,
  formatMoney,
  formatRelative,
} from "./format.ts";

/** One clock for many times on the page; it runs only while it has listeners. */
class Ticker {
  readonly #everyMs: number;
  #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setInterval> | undefined;
  now = Date.now();

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    // Without listeners the clock stood still.
    if (this.#timer === undefined) this.now = Date.now();
    this.#timer ??= setInterval(() => {
      this.now = Date.now();
      for (const each of this.#listeners) each();
    }, this.#everyMs);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  };
}

const ticker = new Ticker(10_000);
/** For work in progress. */
const stopwatch = new Ticker(1_000);
const standStill = () => () => {};

/** The current time, to some seconds: for lists, whose times need no separate clocks. */
export function useNow(): number {
  return useSyncExternalStore(ticker.subscribe, () => ticker.now);
}

export function Time({ at }: { at: string | Date | null | undefined }) {
  return <TimeSince at={at} now={useNow()} />;
}

/** A time that was not yet read when the clock last ticked is later than it: then the time itself is "now". */
export function TimeSince({ at, now }: { at: string | Date | null | undefined; now: number }) {
  if (!at) return <span className="muted">–</span>;
  const date = typeof at === "string" ? new Date(at) : at;
  const reference = Math.max(now, Math.min(date.getTime(), Date.now()));
  return (
    <time dateTime={date.toISOString()} title={formatExact(date)}>
      {formatRelative(date, new Date(reference))}
    </time>
  );
}

/** How long it took; with `since` alone, how long it has been going. */
export function Duration({
  ms,
  since,
  until,
}: {
  ms?: number | null;
  since?: string | null;
  until?: string | null;
}) {
  const running = (ms === null || ms === undefined) && Boolean(since) && !until;
  const now = useSyncExternalStore(running ? stopwatch.subscribe : standStill, () =>
    running ? stopwatch.now : 0,
  );
  const end = until ? Date.parse(until) : now;
  const took = ms ?? (since ? Math.max(0, end - Date.parse(since)) : null);
  if (took === null || took === undefined) return <span className="muted">–</span>;
  return <span className="number">{formatDuration(took)}</span>;
}

export function Bytes({ value }: { value: number | null | undefined }) {
  if (value === null || value === undefined) return <span className="muted">–</span>;
  return (
    <span className="number" title={`${value.toLocaleString("en-US")} bytes`}>
      {formatBytes(value)}
    </span>
  );
}

export function Money({ value }: { value: number | null | undefined }) {
  if (value === null || value === undefined) return <span className="muted">–</span>;
  return (
    <span className="number" title={`$${value}`}>
      {formatMoney(value)}
    </span>
  );
}

export function Count({ value }: { value: number | null | undefined }) {
  if (value === null || value === undefined) return <span className="muted">–</span>;
  return (
    <span className="number" title={value.toLocaleString("en-US")}>
      {formatCount(value)}
    </span>
  );
}
