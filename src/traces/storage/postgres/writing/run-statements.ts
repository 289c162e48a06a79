import type { Statement } from "../../../../platform/db/database.ts";
import { signatureBits } from "../../../../platform/db/trigrams.ts";
import { timeTextSql } from "../../../runs/run.ts";
import {
  arrayColumns,
  type BlobColumn,
  blobColumns,
  runColumns,
  simpleColumns,
  spentColumns,
  textColumns,
  usageColumns,
  usageNames,
} from "./run-columns.ts";

/** Columns written whole, and how their values are read from the parameters. */
const plainValues = [
  ...simpleColumns.map(([name]) => [name, `u.${name}`] as const),
  ...textColumns.map((name) => [name, `u.${name}`] as const),
  ...arrayColumns.map(([name, type]) => [name, `u.${name}::${type}`] as const),
];

/** Each is one array parameter. */
const inputColumns = [
  ...simpleColumns,
  ...[...textColumns, ...arrayColumns.map(([name]) => name), ...spentColumns].map(
    (name) => [name, "text"] as const,
  ),
  ...usageColumns,
  // Whether a stored run's tokens and costs are written, too.
  ["spends", "boolean"] as const,
  ["stored_start", "timestamptz"] as const,
  ...blobColumns.flatMap((name) => [
    [`${name}_at`, "integer"] as const,
    [`${name}_size`, "integer"] as const,
  ]),
];

const blob = `$${inputColumns.length + 1}::bytea`;
const inputs = `unnest(${inputColumns.map(([, type], index) => `$${index + 1}::${type}[]`).join(", ")})
  as u (${inputColumns.map(([name]) => name).join(", ")})`;

function blobValue(name: BlobColumn): string {
  const part = `substr(${blob}, u.${name}_at, u.${name}_size)`;
  const text = `convert_from(${part}, 'UTF8')`;
  const values: Partial<Record<BlobColumn, string>> = {
    metadata: `${text}::jsonb`,
    trigrams: `('x' || encode(${part}, 'hex'))::bit(${signatureBits})`,
  };
  return `case when u.${name}_size >= 0 then ${values[name] ?? text} end`;
}

export const inputColumnNames = inputColumns.map(([name]) => name);

const spentValues = [
  ...spentColumns.map((name) => [name, `u.${name}::numeric[]`] as const),
  ...usageNames.map((name) => [name, `u.${name}`] as const),
];

const inserted = [
  ...[...plainValues, ...spentValues].map(([, sql]) => sql),
  ...blobColumns.map(blobValue),
].join(", ");

const next = inputColumns.length + 2;
const shares = next + 13 + usageColumns.length;

/**
 * The time under which an id was stored, as a subquery: each row uses one index, regardless of the planner's estimates.
 */
export function standsAt(alias: string): string {
  return `(select k.start_time from trace_run_ids k where k.id = ${alias}.id and k.workspace_id = ${alias}.workspace_id)`;
}

/**
 * Everything one flush changes, in one statement: new runs, stored ones, their ancestors, and what waited for them. It
 * is planned each time: a plan kept from an empty table would scan a full one. Ids are compared with `= any (array[…])`
 * because that cannot be hashed: the planner does not know that partitions will be pruned, and would rather scan them
 * all than use the index of each.
 */
export const writeRuns: Statement = {
  name: "",
  text: `with u as materialized (select * from ${inputs}),
    unparked as (
      delete from trace_parked_patches p using unnest($${next}::uuid[], $${next + 1}::uuid[], $${next + 2}::bigint[])
        as d (run_id, workspace_id, last_seq)
      where p.run_id = d.run_id and p.workspace_id = d.workspace_id and p.seq <= d.last_seq
    ), parked as (
      insert into trace_parked_patches (run_id, workspace_id, patch)
      select * from unnest($${next + 3}::uuid[], $${next + 4}::uuid[], $${next + 5}::text[])
    ), made as (
      insert into trace_runs (${runColumns.join(", ")})
      select ${inserted}
      from u where u.stored_start is null
    ), changed as (
      update trace_runs r set
        ${plainValues
          .filter(([name]) => name !== "id" && name !== "workspace_id")
          .map(([name, sql]) => `${name} = ${sql}`)
          .join(", ")},
        ${spentValues.map(([name, sql]) => `${name} = case when u.spends then ${sql} else r.${name} end`).join(", ")},
        metadata = ${blobValue("metadata")}, error = ${blobValue("error")}, trigrams = r.trigrams | ${blobValue("trigrams")},
        ${blobColumns
          .filter((name) => name !== "metadata" && name !== "error" && name !== "trigrams")
          .map((name) => `${name} = coalesce(${blobValue(name)}, r.${name})`)
          .join(", ")}
      from u
      where u.stored_start is not null
        and r.id = any (array[u.id]) and r.start_time = any (array[u.stored_start]) and r.workspace_id = u.workspace_id
    ), moved as (
      update trace_run_ids k set start_time = m.start_time
      from unnest($${next + 6}::uuid[], $${next + 7}::uuid[], $${next + 8}::timestamptz[]) as m (id, workspace_id, start_time)
      where k.id = any (array[m.id]) and k.workspace_id = m.workspace_id
    ), raised as (
      update trace_runs r set below = a.below::numeric[], ${usageNames.map((name) => `${name} = a.${name}`).join(", ")}
      from unnest($${next + 9}::uuid[], $${next + 10}::uuid[], $${next + 11}::timestamptz[], $${next + 12}::text[],
        ${usageColumns.map(([, type], index) => `$${next + 13 + index}::${type}[]`).join(", ")})
        as a (id, workspace_id, start_time, below, ${usageNames.join(", ")})
      where r.id = any (array[a.id]) and r.start_time = any (array[a.start_time]) and r.workspace_id = a.workspace_id
    )
    insert into trace_parked_usage as p (run_id, workspace_id, usage)
    select s.id, s.workspace_id, s.usage::numeric[]
    from unnest($${shares}::uuid[], $${shares + 1}::uuid[], $${shares + 2}::text[]) as s (id, workspace_id, usage)
    on conflict (run_id, workspace_id) do update
      set usage = array(select a + b from unnest(p.usage, excluded.usage) as sums (a, b)), received_at = now()`,
};

/**
 * Runs by id, and what was kept for them until they come. An id that comes with a time is claimed for it, unless it
 * stands elsewhere already: the same id never makes a second run, however far apart its times are.
 */
export const findRuns: Statement = {
  name: "trace_runs_find_1",
  text: `with i as materialized (
      select i.*, ${standsAt("i")} as stands_at
      from unnest((select $1::uuid[]), $2::uuid[], $3::timestamptz[]) as i (id, workspace_id, claim)
    ), claimed as (
      insert into trace_run_ids (id, workspace_id, start_time)
      select id, workspace_id, claim from i where claim is not null and stands_at is null order by id
      on conflict do nothing
    )
    select i.id, i.workspace_id, ${timeTextSql("i.stands_at")} as stands_at, r.run, p.patches, p.last_seq,
      u.run_id is not null as has_usage
    from i
    left join lateral (
      select jsonb_build_object(
          'project_id', project_id, 'trace_id', trace_id, 'parent_run_id', parent_run_id,
          'parent_run_ids', parent_run_ids, 'reference_example_id', reference_example_id, 'name', name,
          'run_type', run_type, 'start_time', ${timeTextSql("start_time")}, 'end_time', ${timeTextSql("end_time")},
          'dotted_order', dotted_order, 'trace_tier', trace_tier, 'thread_id', thread_id, 'tags', tags,
          'metadata', metadata::text, 'terms', terms, 'usage', usage::text[],
          'first_token_time', ${timeTextSql("first_token_time")}, 'execution_order', execution_order,
          'posted', posted, 'patched', patched, 'error', error, 'extra', extra,
          'present', array_remove(array[
            case when inputs is not null then 'inputs' end, case when outputs is not null then 'outputs' end,
            case when extra is not null then 'extra' end, case when events is not null then 'events' end,
            case when serialized is not null then 'serialized' end], null)) as run
      from trace_runs
      where id = i.id and start_time = i.stands_at and workspace_id = i.workspace_id
      limit 1
    ) r on true
    left join lateral (
      select array_agg(patch order by seq) as patches, max(seq) as last_seq from trace_parked_patches
      where run_id = i.id and workspace_id = i.workspace_id
    ) p on true
    left join lateral (
      select run_id from trace_parked_usage where run_id = i.id and workspace_id = i.workspace_id limit 1
    ) u on true
    where i.stands_at is not null or p.patches is not null or u.run_id is not null`,
};
