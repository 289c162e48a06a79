import { useQueryClient } from "@tanstack/react-query";
import { CloudOff } from "lucide-react";
import { useEffect } from "react";
import { reachability, useReachable } from "../api/reachability.ts";

const askAgainMs = 3_000;

/** Shown while the server is away: asks now and then, and refreshes what is shown when it is back. */
export function OfflineBanner() {
  const reachable = useReachable();
  const client = useQueryClient();
  useEffect(() => {
    if (reachable) return;
    const ask = async () => {
      const answer = await fetch("/ok").catch(() => null);
      if (!answer?.ok) return;
      reachability.report(true);
      void client.invalidateQueries();
    };
    const timer = setInterval(() => void ask(), askAgainMs);
    addEventListener("online", ask);
    return () => {
      clearInterval(timer);
      removeEventListener("online", ask);
    };
  }, [reachable, client]);
  if (reachable) return null;
  return (
    <div className="offline" role="status">
      <CloudOff aria-hidden="true" size={16} />
      The server does not respond. What you see may be old; the console continues by itself when it is back.
    </div>
  );
}
