import { useCallback, useEffect, useRef, useState } from "react";
import { listThreads, type ThreadSummary } from "./api.ts";
import { useConnection } from "./connection.ts";

/** `askedAt` is when the question left: an answer cannot know what happened after that. */
export type ThreadList = { threads: ThreadSummary[]; askedAt: number } | undefined;

const everyMs = 2_500;
const lostEveryMs = 1_000;

/** Tells the other tabs of this browser that a thread has changed, so that they need not wait for their next look. */
const tabs = new BroadcastChannel("treadle.chat.threads");

/** The sidebar's list. It is looked at again and again: other tabs and other people use the same threads. */
export function useThreads(): { list: ThreadList; refresh(): Promise<void>; announce(): void } {
  const [list, setList] = useState<ThreadList>();
  const status = useConnection();
  const latest = useRef(0);

  const refresh = useCallback(async () => {
    const askedAt = performance.now();
    try {
      const threads = await listThreads();
      // Answers may overtake one another.
      if (askedAt < latest.current) return;
      latest.current = askedAt;
      setList({ threads, askedAt });
    } catch {
      // The connection's status shows it, and the next look comes by itself.
    }
  }, []);

  const announce = useCallback(() => {
    tabs.postMessage("changed");
    void refresh();
  }, [refresh]);

  useEffect(() => {
    const look = () => {
      if (!document.hidden) void refresh();
    };
    look();
    const timer = setInterval(look, status === "lost" ? lostEveryMs : everyMs);
    tabs.addEventListener("message", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      tabs.removeEventListener("message", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, [refresh, status]);

  return { list, refresh, announce };
}
