import type { Sql } from "../platform/db/database.ts";
import { raw } from "../platform/db/raw.ts";

type Wanted = {
  workspaceId: string;
  words: string;
  ids: { from: string; to: string } | null;
  limit: number;
};

export type FoundAlert = { id: string; name: string; state: string };

/** By a part of the name, or by id; the best match first. */
export async function findAlerts(sql: Sql, wanted: Wanted): Promise<FoundAlert[]> {
  const { from = null, to = null } = wanted.ids ?? {};
  const { rows } = await raw<FoundAlert>`
    select id, name, state from alert_rules
    where workspace_id = ${wanted.workspaceId}
      and (position(lower(${wanted.words}) in lower(name)) > 0 or id between ${from}::uuid and ${to}::uuid)
    order by position(lower(${wanted.words}) in lower(name)), updated_at desc limit ${wanted.limit}
  `.execute(sql);
  return rows;
}
