import { useEffect, useState } from "react";

const afterMs = 4_000;

/**
 * A hidden tab with nothing going on lets its streams go. A browser opens six connections to a server at most, and each
 * conversation holds two: three forgotten tabs would be enough to make the fourth wait for ever.
 */
export function useAsleep(busy: boolean): boolean {
  const [asleep, setAsleep] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      if (!document.hidden) setAsleep(false);
      else if (!busy) timer = setTimeout(() => setAsleep(true), afterMs);
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [busy]);
  return asleep;
}
