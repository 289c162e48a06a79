import type { Sql } from "./database.ts";
import { limitOwnRole, ownRoleConnections } from "./own-database.ts";
import { raw } from "./raw.ts";

export type DatabaseWalls = {
  /** The server is ours alone, so that its other databases may be closed too. */
  ownsServer: boolean;
  /** Roles of deployments, which an earlier version may have made without limits. */
  roles: readonly string[];
};

/**
 * Closes this database to everybody but its owner, so that roles of deployments cannot connect to it or listen in it,
 * and mends those roles. Returns the databases that stay open to them, because somebody else owns those.
 */
export async function raiseDatabaseWalls(sql: Sql, { ownsServer, roles }: DatabaseWalls): Promise<string[]> {
  const { rows } = await raw<{ name: string; ours: boolean; open: boolean; current: boolean }>`
    select datname as name, datname = current_database() as current,
      pg_has_role(datdba, 'usage') as ours,
      exists (select from aclexplode(coalesce(datacl, acldefault('d', datdba))) a
        where a.grantee = 0 and a.privilege_type = 'CONNECT') as open
    from pg_database where datallowconn order by datname`.execute(sql);
  const foreign = rows.filter(({ open }) => open);
  const closable = foreign.filter(({ ours, current }) => ours && (current || ownsServer));
  for (const { name } of closable) {
    const quoted = `"${name.replaceAll('"', '""')}"`;
    // Who else was let in by name stays in.
    await raw.raw(`revoke connect, temporary on database ${quoted} from public`).execute(sql);
  }
  const found = await raw<{ name: string }>`
    select rolname as name from pg_roles
    where rolname = any(${roles}::text[])
      and (rolconnlimit <> ${ownRoleConnections} or rolcreatedb or rolcreaterole or rolconfig is null)`.execute(
    sql,
  );
  for (const { name } of found.rows) await limitOwnRole(sql, name);
  return foreign.filter((database) => !closable.includes(database)).map(({ name }) => name);
}
