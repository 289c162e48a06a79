import { useCallback, useEffect, useState } from "react";

/**
 * What the page shows. `key` changes when the conversation is to be loaded anew: `useStream` closes its adapter for good
 * when it lets go of a thread, so each view gets a component of its own.
 */
export type View = { threadId: string | null; key: number };

function threadInAddress(): string | null {
  return /^#\/t\/([\w.-]+)$/.exec(location.hash)?.[1] ?? null;
}

/** Which thread is open lives in the address: it survives a reload and can be passed on. */
export function useThreadAddress() {
  const [view, setView] = useState<View>(() => ({ threadId: threadInAddress(), key: 0 }));

  useEffect(() => {
    const follow = () => {
      const threadId = threadInAddress();
      setView((now) => (now.threadId === threadId ? now : { threadId, key: now.key + 1 }));
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);

  const show = useCallback((threadId: string | null) => {
    history.pushState(null, "", threadId === null ? "#/" : `#/t/${threadId}`);
    setView((now) => ({ threadId, key: now.key + 1 }));
  }, []);
  /** The new conversation got its id; what is on the screen stays. */
  const name = useCallback((threadId: string) => {
    history.replaceState(null, "", `#/t/${threadId}`);
    setView((now) => ({ ...now, threadId }));
  }, []);
  const reload = useCallback(() => setView((now) => ({ ...now, key: now.key + 1 })), []);
  return { view, show, name, reload };
}
