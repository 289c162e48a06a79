import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { exactTimeSql } from "../../platform/exact-time.ts";
import type { Destination } from "./destination.ts";

const columns = raw.raw(`id, workspace_id, destination_type, display_name, config, credentials_sealed,
  credentials_keys, ${exactTimeSql("created_at")} as created_at, ${exactTimeSql("updated_at")} as updated_at`);

export type NewDestination = Omit<Destination, "created_at" | "updated_at">;

export async function insertDestination(sql: Sql, row: NewDestination, now: Date): Promise<Destination> {
  const { rows } = await raw<Destination>`
    insert into bulk_export_destinations (id, workspace_id, destination_type, display_name, config,
      credentials_sealed, credentials_keys, created_at, updated_at)
    values (${row.id}, ${row.workspace_id}, ${row.destination_type}, ${row.display_name},
      ${JSON.stringify(row.config)}::jsonb, ${row.credentials_sealed}, ${row.credentials_keys}::text[], ${now}, ${now})
    returning ${columns}`.execute(sql);
  return rows[0]!;
}

export async function listDestinations(sql: Sql, workspaceId: string): Promise<Destination[]> {
  const { rows } = await raw<Destination>`select ${columns} from bulk_export_destinations
    where workspace_id = ${workspaceId} order by bulk_export_destinations.created_at, id`.execute(sql);
  return rows;
}

export async function findDestination(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<Destination | undefined> {
  const { rows } = await raw<Destination>`select ${columns} from bulk_export_destinations
    where id = ${id} and workspace_id = ${workspaceId}`.execute(sql);
  return rows[0];
}

export async function saveCredentials(
  sql: Sql,
  input: { id: string; workspaceId: string; sealed: string; keys: string[]; now: Date },
): Promise<Destination | undefined> {
  const { rows } = await raw<Destination>`
    update bulk_export_destinations
    set credentials_sealed = ${input.sealed}, credentials_keys = ${input.keys}::text[], updated_at = ${input.now}
    where id = ${input.id} and workspace_id = ${input.workspaceId}
    returning ${columns}`.execute(sql);
  return rows[0];
}

/** Keeps the destination from being deleted until the transaction ends; false when it is gone. */
export async function holdDestination(sql: Sql, workspaceId: string, id: string): Promise<boolean> {
  const { rows } = await raw`select 1 from bulk_export_destinations
    where id = ${id} and workspace_id = ${workspaceId} for key share`.execute(sql);
  return rows.length > 0;
}

/** Locks the destination against new exports and answers how many name it; undefined when it is unknown. */
export async function countExportsOf(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<{ exports: number } | undefined> {
  const { rows: locked } = await raw`select 1 from bulk_export_destinations
    where id = ${id} and workspace_id = ${workspaceId} for update`.execute(sql);
  if (locked.length === 0) return undefined;
  const { rows } = await raw<{ exports: number }>`select count(*)::int as exports from bulk_exports
    where bulk_export_destination_id = ${id}`.execute(sql);
  return rows[0]!;
}

export async function deleteDestination(sql: Sql, workspaceId: string, id: string): Promise<void> {
  await raw`delete from bulk_export_destinations where id = ${id} and workspace_id = ${workspaceId}`.execute(
    sql,
  );
}
