import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import type { GuardedRow } from "./route-rules.ts";

/** Whether the condition admits a row. For `missing`, the caller decides how to answer. */
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

/** Whether an item would be among them, were it written. */
export async function isItemAdmitted(
  sql: Sql,
  item: { namespace: readonly string[]; key: string; value: unknown },
  condition: RawBuilder<unknown>,
): Promise<boolean> {
  const { rows } = await raw<{ admitted: boolean | null }>`select ${condition} as admitted
    from (select ${item.namespace.join(".")}::text as namespace, ${item.key}::text as key,
      ${JSON.stringify(item.value ?? {})}::jsonb as document) i`.execute(sql);
  return rows[0]?.admitted === true;
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
      return raw`store_items i where i.namespace = ${row.namespace.join(".")} and i.key = ${id}`;
    case "run":
      return raw`threads where thread_id = (select r.thread_id from runs r where r.run_id = ${id}::uuid)`;
  }
}
