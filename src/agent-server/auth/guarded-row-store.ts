import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import type { GuardedRow } from "./route-rules.ts";

/** Whether a row is among those the condition admits; `missing` leaves the answer to whoever looks for it. */
export async function isAdmitted(
  sql: Sql,
  workspaceId: string,
  row: GuardedRow,
  condition: RawBuilder<unknown>,
): Promise<"admitted" | "hidden" | "missing"> {
  const { rows } = await raw<{ admitted: boolean | null }>`select ${condition} as admitted
    from ${sourceOf(row)} and workspace_id = ${workspaceId}`.execute(sql);
  const [found] = rows;
  if (!found) return "missing";
  return found.admitted === true ? "admitted" : "hidden";
}

function sourceOf(row: GuardedRow): RawBuilder<unknown> {
  const { id } = row;
  switch (row.kind) {
    case "thread":
      return raw`threads where thread_id = ${id}::uuid`;
    case "assistant":
      return raw`assistants where assistant_id = ${id}::uuid`;
    case "cron":
      return raw`crons where cron_id = ${id}::uuid`;
    case "item":
      return raw`store_items where namespace = ${row.namespace.join(".")} and key = ${id}`;
    case "run":
      return raw`threads where thread_id = (select r.thread_id from runs r where r.run_id = ${id}::uuid)`;
  }
}
