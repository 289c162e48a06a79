import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** The stored value wins: processes that start at once end up with the same one. */
export async function keepInstallSecret(sql: Sql, name: string, sealed: string): Promise<string> {
  await raw`insert into install_secrets (name, value_sealed) values (${name}, ${sealed})
    on conflict (name) do nothing`.execute(sql);
  const { rows } = await raw<{ value_sealed: string }>`
    select value_sealed from install_secrets where name = ${name}`.execute(sql);
  return rows[0]!.value_sealed;
}
