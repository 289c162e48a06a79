import type { Sql } from "./database.ts";
import { sqlState } from "./database-errors.ts";
import { limitOwnRole, ownRoleConnections, withOwnDatabaseLock } from "./own-database.ts";
import { raw } from "./raw.ts";

export type DatabaseWalls = {
  /** The server is ours alone, so that its other databases may be closed too. */
  ownsServer: boolean;
  /** Roles of deployments, which an earlier version may have made without limits. */
  roles: readonly string[];
};

/** What could not be done, because another role owns it. */
export type MissingWalls = {
  /** The platform's own database, when roles of deployments may still connect to it. */
  platform: string | null;
  /** Other databases of the server that everybody may connect to. */
  others: string[];
  /** Roles of deployments that stay without limits. */
  roles: string[];
};

type Door = { name: string; ours: boolean; current: boolean };

/**
 * Closes this database to everybody but its owner and those let in by name, so that roles of deployments cannot
 * connect to it or listen in it, and mends those roles.
 */
export async function raiseDatabaseWalls(
  sql: Sql,
  { ownsServer, roles }: DatabaseWalls,
): Promise<MissingWalls> {
  const { rows } = await raw<Door>`
    select datname as name, datname = current_database() as current, pg_has_role(datdba, 'usage') as ours
    from pg_database
    where datallowconn and exists (
      select from aclexplode(coalesce(datacl, acldefault('d', datdba))) a
      where a.grantee = 0 and a.privilege_type in ('CONNECT', 'TEMPORARY'))
    order by datname`.execute(sql);
  const isClosable = ({ ours, current }: Door) => ours && (current || ownsServer);
  for (const { name } of rows.filter(isClosable))
    await raw
      .raw(`revoke connect, temporary on database "${name.replaceAll('"', '""')}" from public`)
      .execute(sql);
  const open = rows.filter((door) => !isClosable(door));
  return {
    platform: open.find(({ current }) => current)?.name ?? null,
    others: open.filter(({ current }) => !current).map(({ name }) => name),
    roles: await limitRoles(sql, roles),
  };
}

async function limitRoles(sql: Sql, roles: readonly string[]): Promise<string[]> {
  const { rows } = await raw<{ name: string }>`
    select rolname as name from pg_roles
    where rolname = any(${roles}::text[])
      and (rolconnlimit <> ${ownRoleConnections} or rolcreatedb or rolcreaterole or rolconfig is null)`.execute(
    sql,
  );
  const left: string[] = [];
  for (const { name } of rows)
    try {
      await withOwnDatabaseLock(sql, name, (connection) => limitOwnRole(connection, name));
    } catch (error) {
      if (sqlState(error) !== "42501") throw error;
      left.push(name);
    }
  return left;
}
