import { useEffect, useRef, useState } from "react";
import { api, query } from "../../api/client.ts";
import { followEvents } from "../../api/events.ts";
import type { Answers, LogLine } from "../../api/wire.ts";
import { deploymentPath } from "./deployment-api.ts";

const pageSize = 1_000;
/** More than anybody reads; the oldest go, so that a page that is left open does not grow. */
const keptAtMost = 50_000;
/** How far back a line that an address names is looked for, in pages. */
const lookedBack = 20;
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

/**
 * The end of a log from the line `from` on, or the last page, and what is added to it while `live`. Use it under a key:
 * another log is another use.
 */
export function useLog(
  { deploymentId, revisionId, type }: LogPlace,
  live: boolean,
  from: string | null = null,
): Log {
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
      let answer = await read({ order: "desc" }, signal);
      let page = answer.logs.reverse();
      put(page);
      for (let pages = 1; from !== null && pages < lookedBack && page.length === pageSize; pages += 1) {
        if (Number(page[0]!.id) <= Number(from)) break;
        answer = await read({ order: "desc", offset: page[0]!.id }, signal);
        page = answer.logs.reverse();
        put([...page, ...shown.current]);
      }
      setHasEarlier(goesOn(answer));
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
      const answer = await read({ order: "desc", offset: first });
      setHasEarlier(goesOn(answer));
      put([...answer.logs.reverse(), ...shown.current]);
    },
  };
}

/** A page may end early, where the lines before it cannot be had at the moment. */
function goesOn({ logs, incomplete }: Answers["list_deployment_logs"]): boolean {
  return logs.length === pageSize || incomplete !== undefined;
}
