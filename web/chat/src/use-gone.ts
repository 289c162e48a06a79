import { useEffect, useRef } from "react";
import type { ThreadList } from "./use-threads.ts";

/**
 * Whether the open thread is no longer there. A thread this tab has just begun is not listed yet, and an answer that
 * was asked for before the thread was opened proves nothing about it.
 */
export function useGone(threadId: string | null, list: ThreadList) {
  const begun = useRef(new Set<string>());
  const opened = useRef({ threadId, at: performance.now() });
  if (opened.current.threadId !== threadId) opened.current = { threadId, at: performance.now() };

  const listed = list?.threads.some((thread) => thread.thread_id === threadId) ?? false;
  useEffect(() => {
    if (listed && threadId !== null) begun.current.delete(threadId);
  }, [listed, threadId]);

  const isGone =
    threadId !== null &&
    list !== undefined &&
    list.askedAt >= opened.current.at &&
    !listed &&
    !begun.current.has(threadId);
  return { isGone, begin: (id: string) => begun.current.add(id), forgetBegun: () => begun.current.clear() };
}
