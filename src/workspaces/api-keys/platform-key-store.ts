import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** The tracing keys the platform made before then, without those named. */
export async function listTracingKeys(sql: Sql, before: Date, except: readonly string[]): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`
    select id from api_keys where managed and scopes = array['traces:write'] and revoked_at is null and created_at < ${before}
      and not id = any (${except}::uuid[]) order by created_at limit 1000`.execute(sql);
  return rows.map((row) => row.id);
}
