import { useEffect, useRef, useState } from "react";
import { api, query } from "../../api/client.ts";
import { followEvents } from "../../api/events.ts";
import type { Answers, LogLine } from "../../api/wire.ts";
import { deploymentPath } from "./deployment-api.ts";

const pageSize = 1_000;
/** More than anybody reads; the oldest go, so that a page that is left open does not grow. */
const keptAtMost = 50_000;
/** Lines come one by one; what is shown changes a few times a second at most. */
const drawMs = 150;

/** The whole deployment's server log, or one revision's build or server log. */
export type LogPlace = { deploymentId: string; revisionId?: string; type: "build" | "deploy" };

export type Log = {
  lines: readonly LogLine[];
  loading: boolean;
  error: unknown;
  /** There are lines before the first one. */
  hasEarlier: boolean;
  loadEarlier(): Promise<void>;
};

/** The end of a log, and what is added to it while `live`. Use it under a key: another log is another use. */
export function useLog({ deploymentId, revisionId, type }: LogPlace, live: boolean): Log {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [loading, setLoading] = useState(true);
  const [error, setError] = useState<unknown>(null);
  const [hasEarlier, setHasEarlier] = useState(false);
  const shown = useRef<readonly LogLine[]>([]);

  const base = deploymentPath(deploymentId);
  const path = revisionId ? `${base}/revisions/${revisionId}/logs` : `${base}/logs`;
  const read = (more: Record<string, string>, signal?: AbortSignal) =>
    api.get<Answers["list_deployment_logs"]>(
      `${path}${query({ limit: pageSize, type: revisionId && type, ...more })}`,
      { signal },
    );
  const put = (next: readonly LogLine[]) => {
    shown.current = next.length > keptAtMost ? next.slice(-keptAtMost) : next;
    setLines(shown.current);
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: the place does not change under one key
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    let waiting: LogLine[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const draw = () => {
      timer = undefined;
      put([...shown.current, ...waiting]);
      waiting = [];
    };
    const begin = async () => {
      const { logs } = await read({ order: "desc" }, signal);
      put(logs.reverse());
      setHasEarlier(logs.length === pageSize);
      setLoading(false);
    };
    /** When it is over, one look more: the last lines may come after the end was announced. */
    const finish = async () => {
      for (let full = true; full; ) {
        const { logs } = await read({ order: "asc", offset: shown.current.at(-1)?.id ?? "0" }, signal);
        put([...shown.current, ...logs]);
        full = logs.length === pageSize;
      }
    };
    const follow = () => {
      const last = shown.current.at(-1)?.id;
      return followEvents({
        path: `${base}/logs/stream${query({ type, revision_id: revisionId, tail: last ? 0 : pageSize })}`,
        lastEventId: last,
        signal,
        onOpen: () => setError(null),
        onEvent({ event, data }) {
          if (event !== "log") return;
          waiting.push(JSON.parse(data) as LogLine);
          timer ??= setTimeout(draw, drawMs);
        },
      });
    };
    const run = async () => {
      if (shown.current.length === 0) await begin();
      await (live ? follow() : finish());
    };
    run().catch((failure: unknown) => {
      if (signal.aborted) return;
      setError(failure);
      setLoading(false);
    });
    return () => {
      stop.abort();
      if (timer !== undefined) draw();
    };
  }, [live]);

  return {
    lines,
    loading,
    error,
    hasEarlier,
    async loadEarlier() {
      const first = shown.current[0]?.id;
      if (!first) return;
      const { logs } = await read({ order: "desc", offset: first });
      put([...logs.reverse(), ...shown.current]);
      setHasEarlier(logs.length === pageSize);
    },
  };
}
