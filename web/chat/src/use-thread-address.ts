import { useCallback, useEffect, useState } from "react";

/**
 * Where the page is: a thread of a server (null: the server of this page), or a conversation somebody shared. A link
 * may name the assistant or graph of a new conversation.
 */
export type Place = {
  serverId: string | null;
  threadId: string | null;
  assistant: string | null;
  shared: string | null;
};

/**
 * What the page shows. `key` changes when the conversation is to be reloaded: `useStream` closes its adapter for good
 * when it releases a thread, so each view gets its own component.
 */
export type View = Place & { key: number };

export function readPlace(hash: string): Place {
  const shared = /^#\/shared\/([\w-]+)$/.exec(hash)?.[1];
  if (shared) return { serverId: null, threadId: null, assistant: null, shared };
  const [, serverId = null, threadId = null, named = null] =
    /^#(?:\/s\/([\w.-]+))?(?:\/t\/([\w.-]+)|\/a\/((?:[\w.~!'()*-]|%[0-9a-f]{2})+))?\/?$/i.exec(hash) ?? [];
  return { serverId, threadId, assistant: decoded(named), shared: null };
}

/** Null for text that cannot be decoded, as in a hand-written address. */
function decoded(named: string | null): string | null {
  try {
    return named && decodeURIComponent(named);
  } catch {
    return null;
  }
}

/** A conversation knows its assistant; only a new one needs the name. */
export function hashOf({
  serverId,
  threadId,
  assistant = null,
}: Pick<Place, "serverId" | "threadId"> & Partial<Place>): string {
  const server = serverId === null ? "" : `/s/${serverId}`;
  const named = assistant === null ? "" : `/a/${encodeURIComponent(assistant)}`;
  const thread = threadId === null ? named : `/t/${threadId}`;
  return `#${`${server}${thread}` || "/"}`;
}

/** Which thread is open lives in the address: it survives a reload and can be passed on. */
export function useThreadAddress() {
  const [view, setView] = useState<View>(() => ({ ...readPlace(location.hash), key: 0 }));

  useEffect(() => {
    const follow = () => {
      const place = readPlace(location.hash);
      setView((now) =>
        hashOf(now) === hashOf(place) && now.shared === place.shared ? now : { ...place, key: now.key + 1 },
      );
    };
    addEventListener("hashchange", follow);
    addEventListener("popstate", follow);
    return () => {
      removeEventListener("hashchange", follow);
      removeEventListener("popstate", follow);
    };
  }, []);

  const show = useCallback((place: Pick<Place, "serverId" | "threadId">) => {
    history.pushState(null, "", hashOf(place));
    setView((now) => ({ ...place, assistant: null, shared: null, key: now.key + 1 }));
  }, []);
  /** The new conversation got its id; what is on the screen stays. */
  const name = useCallback((threadId: string) => {
    setView((now) => {
      const named = { ...now, threadId };
      history.replaceState(null, "", hashOf(named));
      return named;
    });
  }, []);
  const reload = useCallback(() => setView((now) => ({ ...now, key: now.key + 1 })), []);
  return { view, show, name, reload };
}
