import { z } from "zod";
import type { AuditOptions } from "./audit.ts";
import { openSession } from "./client/session.ts";
import { formatAge } from "./terminal/amounts.ts";
import { printTable } from "./terminal/table.ts";

const nullable = z.string().nullish();
const auditEvent = z.looseObject({
  at: z.string(),
  action: z.string(),
  outcome: z.string(),
  error_code: nullable,
  actor: z.looseObject({ kind: z.string(), email: nullable, api_key_name: nullable }),
  target: z.looseObject({ kind: z.string(), id: nullable, name: nullable }).nullable(),
  address: nullable,
});
const page = z.looseObject({ resources: z.array(auditEvent), next_cursor: z.string().nullable() });
const pageSize = 200;

export async function showAudit(options: AuditOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found: z.output<typeof auditEvent>[] = [];
  let cursor: string | undefined;
  do {
    const answer = await api.call(page, "GET", "/v2/audit-events", {
      query: {
        limit: Math.min(options.limit - found.length, pageSize),
        cursor,
        action: options.action,
        outcome: options.outcome,
        from: options.since?.toISOString(),
      },
    });
    found.push(...answer.resources);
    cursor = answer.next_cursor ?? undefined;
  } while (cursor !== undefined && found.length < options.limit);
  output.data(found);
  const now = new Date();
  printTable(
    output,
    [
      { head: "WHEN" },
      { head: "WHO" },
      { head: "WITH" },
      { head: "WHAT" },
      { head: "TARGET", flexible: true },
      { head: "FROM" },
      { head: "OUTCOME" },
    ],
    found.map((event) => [
      formatAge(event.at, now),
      event.actor.email ?? event.actor.kind,
      event.actor.api_key_name ?? "",
      { text: event.action, style: "bold" as const },
      event.target ? `${event.target.kind} ${event.target.name ?? event.target.id ?? ""}`.trim() : "",
      event.address ?? "",
      event.outcome === "done" ? "done" : `${event.outcome} (${event.error_code ?? ""})`,
    ]),
  );
}
