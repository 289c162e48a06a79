import { useEffect, useRef, useState } from "react";
import { api, query } from "../../api/client.ts";
import type { LogLine } from "../../ui/log-view.tsx";

type Answer = { logs: LogLine[]; next_offset: string | null };

const pageSize = 1_000;
const askAgainMs = 1_000;
/** More than anybody reads; the oldest go, so that a page that is left open does not grow. */
const keptAtMost = 50_000;

export type Log = {
  lines: readonly LogLine[];
  loading: boolean;
  error: unknown;
  /** There are lines before the first one. */
  hasEarlier: boolean;
  loadEarlier(): Promise<void>;
};

/** The end of a log, and what is added to it while `live` and somebody looks. */
export function useLog(path: string, options: { live: boolean; type?: "build" | "deploy" }): Log {
  const { live, type } = options;
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [loading, setLoading] = useState(true);
  const [error, setError] = useState<unknown>(null);
  const [hasEarlier, setHasEarlier] = useState(false);
  const shown = useRef<readonly LogLine[]>([]);
  const put = (next: readonly LogLine[]) => {
    shown.current = next.length > keptAtMost ? next.slice(-keptAtMost) : next;
    setLines(shown.current);
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: `put` only sets what is shown
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = (more: Record<string, string>) =>
      api.get<Answer>(`${path}${query({ limit: pageSize, type, ...more })}`, { signal });

    const begin = async () => {
      const { logs } = await read({ order: "desc" });
      put(logs.reverse());
      setHasEarlier(logs.length === pageSize);
      setLoading(false);
    };
    const goOn = async () => {
      for (;;) {
        const after = shown.current.at(-1)?.id;
        const { logs } = await read({ order: "asc", ...(after ? { offset: after } : {}) });
        if (signal.aborted) return;
        if (logs.length > 0) put([...shown.current, ...logs]);
        if (logs.length < pageSize) return;
      }
    };
    const step = async (work: () => Promise<void>) => {
      try {
        if (!document.hidden || shown.current.length === 0) await work();
        setError(null);
      } catch (failure) {
        if (signal.aborted) return;
        setError(failure);
        setLoading(false);
      }
      // When it is over, one look more: the last lines may come after the end was announced.
      if (live && !signal.aborted) timer = setTimeout(() => void step(goOn), askAgainMs);
    };
    void step(shown.current.length === 0 ? begin : goOn);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, type, live]);

  // Another log: nothing of the old one stays.
  const place = `${path} ${type ?? ""}`;
  const [shownPlace, setShownPlace] = useState(place);
  if (shownPlace !== place) {
    setShownPlace(place);
    shown.current = [];
    setLines([]);
    setLoading(true);
    setHasEarlier(false);
  }

  return {
    lines,
    loading,
    error,
    hasEarlier,
    async loadEarlier() {
      const first = shown.current[0]?.id;
      if (!first) return;
      const { logs } = await api.get<Answer>(
        `${path}${query({ limit: pageSize, type, order: "desc", offset: first })}`,
      );
      put([...logs.reverse(), ...shown.current]);
      setHasEarlier(logs.length === pageSize);
    },
  };
}
