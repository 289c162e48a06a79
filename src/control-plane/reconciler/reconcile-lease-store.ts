import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type LeaseOwner = { owner: string; host: string; pid: number; pidStarted: string };
export type LeaseHolder = LeaseOwner & { expired: boolean };

export async function readLease(sql: Sql): Promise<LeaseHolder | undefined> {
  const { rows } = await raw<LeaseHolder>`
    select owner, host, pid, pid_started as "pidStarted", expires_at < now() as expired
    from control_plane_lease`.execute(sql);
  return rows[0];
}

/** Takes the lease if it is free, or held by `replacing`. */
export async function takeLease(
  sql: Sql,
  me: LeaseOwner,
  replacing: string | null,
  leaseMs: number,
): Promise<boolean> {
  const { rows } = await raw`
    insert into control_plane_lease (owner, host, pid, pid_started, expires_at)
    values (${me.owner}, ${me.host}, ${me.pid}, ${me.pidStarted}, now() + ${leaseMs} * interval '1 millisecond')
    on conflict (singleton) do update set owner = excluded.owner, host = excluded.host, pid = excluded.pid,
      pid_started = excluded.pid_started, expires_at = excluded.expires_at
    where control_plane_lease.owner = ${replacing ?? ""}
    returning owner`.execute(sql);
  return rows.length > 0;
}

/** False when another process holds it, or none does: a late renewal must not take a released lease again. */
export async function renewLease(sql: Sql, owner: string, leaseMs: number): Promise<boolean> {
  const { rows } = await raw`
    update control_plane_lease set expires_at = now() + ${leaseMs} * interval '1 millisecond'
    where owner = ${owner} returning owner`.execute(sql);
  return rows.length > 0;
}

export async function dropLease(sql: Sql, owner: string): Promise<void> {
  await raw`delete from control_plane_lease where owner = ${owner}`.execute(sql);
}
