import { useEffect, useState } from "react";

const afterMs = 4_000;

/**
 * Whether this tab is visible, or was a moment ago. A browser opens six connections to a server at most: hidden tabs
 * must not hold them.
 */
export function useWatched(): boolean {
  const [watched, setWatched] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      if (document.hidden) timer = setTimeout(() => setWatched(false), afterMs);
      else setWatched(true);
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return watched;
}
