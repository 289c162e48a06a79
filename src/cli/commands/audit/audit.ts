import { z } from "zod";
import { openSession } from "../../client/session.ts";
import { formatAge } from "../../terminal/amounts.ts";
import { printTable } from "../../terminal/table.ts";
import type { AuditOptions } from "./options.ts";

const nullable = z.string().nullish();
const auditEvent = z.looseObject({
  at: z.string(),
  action: z.string(),
  outcome: z.string(),
  error_code: nullable,
  actor: z.looseObject({ kind: z.string(), email: nullable, api_key_name: nullable }),
  target: z.looseObject({ kind: z.string(), id: nullable, name: nullable }).nullable(),
  address: nullable,
  details: z.record(z.string(), z.unknown()),
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
  if (found.length === 0) {
    output.line("No matching entries.");
    return;
  }
  const now = new Date();
  printTable(
    output,
    [
      { head: "WHEN" },
      { head: "WHAT" },
      { head: "OUTCOME" },
      { head: "WHO", flexible: true },
      { head: "WITH", flexible: true },
      { head: "FROM" },
      { head: "TO WHAT", flexible: true },
    ],
    found.map((event) => [
      formatAge(event.at, now),
      { text: event.action, style: "bold" as const },
      outcomeText(event),
      event.actor.email ?? event.actor.kind,
      event.actor.api_key_name ?? "",
      event.address ?? "",
      event.target ? `${event.target.kind} ${event.target.name ?? event.target.id ?? ""}`.trim() : "",
    ]),
  );
}

function outcomeText({ outcome, error_code, details }: z.output<typeof auditEvent>): string {
  const why = error_code ? `${outcome}: ${error_code}` : outcome;
  // A flood is a few rows and one with the count of the others.
  return typeof details.more === "number" ? `${why} (and ${details.more} more)` : why;
}
