import { useMemo } from "react";
import { useLocation, useSearchParams } from "wouter";
import { addressWith, namesIn } from "./address.ts";
import { type AgentServer, threadHref } from "./agent-api.ts";
import type { Stops } from "./start-run.ts";

/** What of a thread is shown, as the address says: the link can be shared, and reloaded. */
export type ThreadAddress = {
  panel: string | null;
  checkpointId: string | null;
  assistantId: string | null;
  stops: Stops;
  hrefWith(patch: Readonly<Record<string, string | null>>): string;
  go(patch: Readonly<Record<string, string | null>>): void;
};

export function useThreadAddress(server: AgentServer, threadId: string): ThreadAddress {
  const [params] = useSearchParams();
  const [, navigate] = useLocation();
  const here = threadHref(server, threadId);
  const text = params.toString();
  return useMemo(() => {
    const search = new URLSearchParams(text);
    const hrefWith: ThreadAddress["hrefWith"] = (patch) => addressWith(here, search, patch);
    return {
      panel: search.get("panel"),
      checkpointId: search.get("checkpoint"),
      assistantId: search.get("assistant"),
      stops: { before: namesIn(search, "stop_before"), after: namesIn(search, "stop_after") },
      hrefWith,
      go: (patch) => navigate(hrefWith(patch)),
    };
  }, [here, text, navigate]);
}
