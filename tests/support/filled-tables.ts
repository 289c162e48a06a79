import type { Sql } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";

/**
 * Fills tables by their catalogue, fast and without foreign keys. What is not given here follows from the type: ids
 * and texts are all different, times lie seconds apart, and what may be null is null.
 */
const told: Record<string, Record<string, string>> = {
  "*": {
    workspace_id: "md5('workspace' || i % 5)::uuid",
    organization_id: "md5('organization' || i % 5)::uuid",
    project_id: "md5('project' || i % 10)::uuid",
  },
  runs: {
    thread_id: "md5('thread' || i / 10)::uuid",
    status: "case i % 1000 when 0 then 'pending' when 1 then 'running' else 'success' end",
    lease_owner: "case when i % 1000 = 1 then md5('owner')::uuid end",
    lease_expires_at: "case when i % 1000 = 1 then now() + interval '1 minute' end",
    ended_at: "case when i % 1000 > 1 then now() - i * interval '1 second' end",
  },
  threads: { thread_id: "md5('thread' || i)::uuid" },
  // Those of runs' own streams last for minutes; what grows is what threads keep for clients of the streaming protocol.
  thread_events: {
    thread_id: "md5('thread' || i / 50)::uuid",
    run_id: "md5('run' || i / 50)::uuid",
    family: "'protocol'",
  },
  checkpoints: { thread_id: "md5('thread' || i / 20)" },
  checkpoint_blobs: { thread_id: "md5('thread' || i / 20)", checkpoint_ns: "''" },
  checkpoint_writes: { thread_id: "md5('thread' || i / 20)", checkpoint_ns: "''" },
  jobs: {
    kind: "'kind-' || i % 8",
    status: "case i % 1000 when 0 then 'pending' when 1 then 'running' else 'succeeded' end",
    finished_at: "case when i % 1000 > 1 then now() - i * interval '1 second' end",
    lease_owner: "case when i % 1000 = 1 then 'worker' end",
    lease_token: "case when i % 1000 = 1 then md5('lease' || i)::uuid end",
    lease_expires_at: "case when i % 1000 = 1 then now() end",
    max_attempts: "5",
  },
  deployment_instances: {
    state: "case i % 1000 when 0 then 'ready' when 1 then 'draining' else 'exited' end",
    drain_epoch: "case when i % 1000 > 0 then i end",
  },
  deployment_log_segments: {
    deployment_id: "md5('deployment' || i / 50)::uuid",
    kind: "'deploy'",
    day: "date '2026-01-01' + (i % 30)::int",
  },
  api_keys: { role: "'admin'", user_id: "md5('user' || i / 3)::uuid" },
  audit_events: { outcome: "'done'", actor_kind: "'person'", at: "now() - i * interval '1 second'" },
  console_sessions: { method: "'key'" },
  users: { id: "md5('user' || i)::uuid" },
  workspaces: { id: "md5('workspace' || i)::uuid" },
  organizations: { id: "md5('organization' || i)::uuid", plan: "'free'" },
  memberships: { role: "'admin'", user_id: "md5('user' || i)::uuid" },
  auth_tokens: {
    status: "'active'",
    refresh_at: "case when i % 1000 = 0 then now() + i * interval '1 second' end",
    provider: "md5('provider' || i % 50)::uuid",
  },
  auth_providers: { provider_id: "'provider-' || i / 5" },
  trace_runs: {
    trace_id: "md5('run' || i / 10 * 10)::uuid",
    id: "md5('run' || i)::uuid",
    is_root: "i % 10 = 0",
    name: "'name-' || i % 20",
    run_type: "(array['chain', 'llm', 'tool', 'llm', 'retriever'])[1 + i % 5]",
    status: "case when i % 50 = 0 then 'error' else 'success' end",
    end_time: "now() - i * interval '1 second'",
    thread_id: "'thread-' || i / 50",
    inputs: "'{\"question\": \"' || i || '\"}'",
  },
  trace_run_ids: { id: "md5('run' || i)::uuid" },
  trace_parked_usage: { run_id: "md5('parked' || i)::uuid" },
  trace_parked_patches: { run_id: "md5('parked' || i)::uuid" },
};

const byType: Record<string, (name: string) => string> = {
  uuid: (name) => `md5('${name}' || i)::uuid`,
  text: (name) => `'${name}-' || i`,
  "timestamp with time zone": () => "now() - i * interval '1 second'",
  boolean: () => "false",
  integer: () => "i::int",
  bigint: () => "i",
  "double precision": () => "i",
  jsonb: () => "'{}'",
  ARRAY: () => "'{}'",
  bytea: () => "''",
};

type Column = { table: string; name: string; type: string; filled: boolean };

async function listColumns(sql: Sql): Promise<Column[]> {
  const { rows } = await raw<Column>`
    select table_name as table, column_name as name, data_type as type,
      is_nullable = 'NO' and is_identity = 'NO' and (column_default is null or data_type like 'timestamp%') as filled
    from information_schema.columns where table_schema = 'public' order by table_name, ordinal_position`.execute(
    sql,
  );
  return rows;
}

/** As many rows as there are processes, or one, whatever they do: read whole, and quickly. */
const rowPerProcess = new Set(["server_processes", "gateways", "gateway_epoch"]);

/** Tables that any of these texts names, and that grow. */
export async function listNamedTables(sql: Sql, texts: readonly string[]): Promise<string[]> {
  const names = new Set((await listColumns(sql)).map((column) => column.table));
  return [...names].filter(
    (name) => !rowPerProcess.has(name) && texts.some((text) => new RegExp(`\\b${name}\\b`).test(text)),
  );
}

/** These grow with tenants, not with their work: a tenth is filled. */
const tenfoldFewer =
  /^(api_keys|users|workspaces|organizations|memberships|assistants|auth_\w+|trace_projects)$/;

/** Adds the rows numbered from `from` up to `to`, and lets PostgreSQL know them. */
export async function fillTables(
  sql: Sql,
  tables: readonly string[],
  { from, to }: { from: number; to: number },
): Promise<void> {
  const columns = await listColumns(sql);
  const at = (table: string, row: number) => (tenfoldFewer.test(table) && row > 1_000 ? row / 10 : row);
  await sql.connection().execute(async (connection) => {
    await raw`set session_replication_role = replica`.execute(connection);
    await raw`set synchronous_commit = off`.execute(connection);
    for (const table of tables) {
      const own = { ...told["*"], ...told[table] };
      const filled = columns.filter((each) => each.table === table && (each.filled || own[each.name]));
      const values = filled.map((each) => own[each.name] ?? byType[each.type]!(each.name));
      const indexes = await dropIndexes(connection, table);
      await raw
        .raw(
          `insert into ${table} (${filled.map((each) => `"${each.name}"`).join(", ")})
            select ${values.join(", ")} from generate_series(${at(table, from)}::bigint, ${at(table, to) - 1}) i on conflict do nothing`,
        )
        .execute(connection);
      for (const definition of indexes) await raw.raw(definition).execute(connection);
      await raw.raw(`analyze ${table}`).execute(connection);
    }
    await raw`reset session_replication_role`.execute(connection);
  });
}

/** Built afterwards, all at once: that is several times quicker. */
async function dropIndexes(sql: Sql, table: string): Promise<string[]> {
  const { rows } = await raw<{ name: string; definition: string }>`
    select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
    from pg_index i left join pg_constraint c on c.conindid = i.indexrelid
    where i.indrelid = ${table}::regclass and c.oid is null`.execute(sql);
  for (const { name } of rows) await raw`drop index ${raw.id(name)}`.execute(sql);
  return rows.map(({ definition }) => definition.replace(" ON ONLY ", " ON "));
}
