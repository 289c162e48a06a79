import { useCallback, useEffect, useRef, useState } from "react";
import { useConnection } from "./connection.ts";
import type { ChatServer, ThreadSummary } from "./servers/chat-server.ts";
import { RefusedError } from "./servers/http-api.ts";

/** `askedAt` is when the question left: an answer cannot know what happened after that. `more`: there may be others. */
export type ThreadList = { threads: ThreadSummary[]; askedAt: number; more: boolean } | undefined;

const everyMs = 2_500;
const lostEveryMs = 1_000;

/**
 * Notifies the other tabs of this browser that a thread has changed, so that they need not wait for their next poll.
 */
const tabs = new BroadcastChannel("treadle.chat.threads");

/**
 * The threads of a server, the open one among them. They are looked at again and again: other tabs and other people use
 * the same ones.
 */
export function useThreads(
  server: ChatServer | undefined,
  threadId: string | null,
  limit: number,
  /** The server answers that it is not there. */
  onMissing: () => void,
) {
  const [answer, setAnswer] = useState<{ server: ChatServer; list: NonNullable<ThreadList> }>();
  const status = useConnection();
  const latest = useRef(0);

  const refresh = useCallback(async () => {
    if (!server) return;
    const askedAt = performance.now();
    try {
      const threads = await server.listThreads({ limit, include: threadId });
      // Answers may overtake one another.
      if (askedAt < latest.current) return;
      latest.current = askedAt;
      setAnswer({ server, list: { threads, askedAt, more: threads.length >= limit } });
    } catch (error) {
      // The connection's status shows the rest, and the list is polled again.
      if (error instanceof RefusedError && error.status === 404) onMissing();
    }
  }, [server, threadId, limit, onMissing]);

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

  // What one server has is not shown as another's.
  const list: ThreadList = answer?.server === server ? answer?.list : undefined;
  return { list, refresh, announce };
}
