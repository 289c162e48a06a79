import { useEffect, useRef } from "react";
import type { ThreadSummary } from "./servers/chat-server.ts";

/** Long enough for events on their way to arrive before the list is believed over the stream. */
const graceMs = 1_200;

/**
 * `useStream` follows the runs it knows of. When the thread is continued elsewhere (another tab, another person), the
 * list of threads shows it: then the view is reloaded, and joins that run.
 */
export function useFollowedThread(options: {
  summary: ThreadSummary | undefined;
  askedAt: number;
  /** Loading, or with a run of our own. */
  occupied: boolean;
  /** An approval is on the screen. */
  asking: boolean;
  onElsewhere(): void;
}): void {
  const { summary, askedAt, occupied, asking, onElsewhere } = options;
  const quietSince = useRef(performance.now());
  const known = useRef<string>(undefined);

  useEffect(() => {
    quietSince.current = performance.now();
    known.current = undefined;
    void occupied;
  }, [occupied]);

  useEffect(() => {
    if (!summary || occupied || askedAt < quietSince.current + graceMs) return;
    const seen = `${summary.version} ${summary.status}`;
    const moved = known.current !== undefined && known.current !== seen;
    known.current = seen;
    const answered = asking && summary.status !== "interrupted";
    if (moved || answered || summary.status === "busy") onElsewhere();
  }, [summary, askedAt, occupied, asking, onElsewhere]);
}
