import { useInfiniteQuery } from "@tanstack/react-query";
import { api, query, request } from "../../api/client.ts";
import type { Answers } from "../../api/wire.ts";

export type { AuditEvent } from "../../api/wire.ts";

/** The filter of the log; empty: all of it. */
export type AuditQuestion = { action: string; outcome: string; user_id: string; lastDays: string };

const dayMs = 24 * 60 * 60_000;

function filtersOf({ lastDays, ...rest }: AuditQuestion) {
  const from = lastDays === "" ? "" : new Date(Date.now() - Number(lastDays) * dayMs).toISOString();
  return { ...rest, from };
}

export function useAuditEvents(asked: AuditQuestion, mayRead: boolean) {
  return useInfiniteQuery({
    queryKey: ["settings", "audit", asked],
    enabled: mayRead,
    // What happens is not hinted at.
    staleTime: 0,
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => {
      const asks = query({ ...filtersOf(asked), limit: 50, cursor: pageParam });
      return api.get<Answers["list_audit_events"]>(`/v2/audit-events${asks}`, { signal });
    },
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
}

/** With the workspace in a header, which a plain link could not send. */
export async function saveAuditEvents(asked: AuditQuestion): Promise<void> {
  const response = await request("GET", `/v2/audit-events/export${query(filtersOf(asked))}`);
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = "audit-events.jsonl";
  link.click();
  URL.revokeObjectURL(url);
}
