import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { timeTextSql } from "../runs/run.ts";
import { jsonbText } from "../wire/metadata.ts";

/** Experiments on one dataset that are looked at side by side. */
export type ComparativeExperiment = {
  id: string;
  workspace_id: string;
  name: string;
  description: string | null;
  reference_dataset_id: string;
  extra: unknown;
  created_at: string;
  modified_at: string;
  experiments_info: { id: string; name: string }[];
  feedback_stats: Record<string, { n: number; avg: number | null }>;
};

/** With the names of the experiments that are still there, and the feedback given in this comparison. */
const columns = raw.raw(
  `c.id, c.workspace_id, c.name, c.description, c.reference_dataset_id, c.extra,
   ${timeTextSql("c.created_at")} as created_at, ${timeTextSql("c.modified_at")} as modified_at,
   (select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'name', p.name) order by p.start_time, p.id), '[]'::jsonb)
    from trace_projects p
    where p.id = any(c.experiment_ids) and p.workspace_id = c.workspace_id and p.deleted_at is null) as experiments_info,
   (select coalesce(jsonb_object_agg(f.key, f.stats), '{}'::jsonb) from (
      select key, jsonb_build_object('n', count(*), 'avg', avg(score)) as stats from trace_feedback
      where workspace_id = c.workspace_id and project_id = any(c.experiment_ids) and comparative_experiment_id = c.id
      group by key) f) as feedback_stats`,
);

export type NewComparativeExperiment = {
  id: string;
  workspaceId: string;
  name: string;
  description: string | null;
  datasetId: string;
  experimentIds: string[];
  extra: unknown;
  createdAt: string | null;
};

/** Undefined when the id is taken. */
export async function insertComparativeExperiment(
  sql: Sql,
  made: NewComparativeExperiment,
): Promise<ComparativeExperiment | undefined> {
  const extra = made.extra == null ? null : jsonbText(JSON.stringify(made.extra));
  const { rows } = await raw<ComparativeExperiment>`
    insert into trace_comparative_experiments as c (id, workspace_id, name, description, reference_dataset_id,
      experiment_ids, extra, created_at)
    values (${made.id}, ${made.workspaceId}, ${made.name}, ${made.description}, ${made.datasetId},
      ${made.experimentIds}::uuid[], ${extra}::jsonb, coalesce(${made.createdAt}::timestamptz, now()))
    on conflict do nothing returning ${columns}
  `.execute(sql);
  return rows[0];
}

export async function listComparativeExperiments(
  sql: Sql,
  workspaceId: string,
  datasetId: string,
  page: { limit: number; offset: number; id?: readonly string[] | undefined },
): Promise<ComparativeExperiment[]> {
  const { rows } = await raw<ComparativeExperiment>`
    select ${columns} from trace_comparative_experiments c
    where c.workspace_id = ${workspaceId} and c.reference_dataset_id = ${datasetId}
      and coalesce(c.id = any(${page.id ?? null}::uuid[]), true)
    order by c.created_at desc, c.id limit ${page.limit} offset ${page.offset}
  `.execute(sql);
  return rows;
}

export async function findComparison(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<{ datasetId: string; experimentIds: string[] } | undefined> {
  const { rows } = await raw<{ datasetId: string; experimentIds: string[] }>`
    select reference_dataset_id as "datasetId", experiment_ids::text[] as "experimentIds"
    from trace_comparative_experiments where id = ${id} and workspace_id = ${workspaceId}
  `.execute(sql);
  return rows[0];
}

/** As `trace_feedback_stats` sums it, without the feedback that was given in other comparisons. */
export async function sumComparisonFeedback(
  sql: Sql,
  workspaceId: string,
  comparisonId: string,
  runIds: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await raw<{ run_id: string; stats: string }>`
    with given as (
      select run_id, key, score,
        case when value like '"%' then coalesce(jsonb_or_null(value) #>> '{}', value) end as value_text
      from trace_feedback
      where run_id = any(${runIds}::uuid[]) and workspace_id = ${workspaceId}
        and coalesce(comparative_experiment_id = ${comparisonId}, true)
    ), counts as (
      select run_id, key, jsonb_object_agg(value_text, n) as named from (
        select run_id, key, value_text, count(*) as n from given where value_text is not null group by 1, 2, 3
      ) counted group by run_id, key
    ), summed as (
      select run_id, key, count(*) as n, avg(score) as average from given group by run_id, key
    )
    select run_id, jsonb_object_agg(key, jsonb_build_object(
        'n', n, 'avg', average, 'values', coalesce(named, '{}'::jsonb)))::text as stats
    from summed left join counts using (run_id, key) group by run_id
  `.execute(sql);
  return new Map(rows.map((row) => [row.run_id, row.stats]));
}

export async function deleteComparativeExperiment(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<boolean> {
  const result = await raw`
    delete from trace_comparative_experiments where id = ${id} and workspace_id = ${workspaceId}
  `.execute(sql);
  return (result.numAffectedRows ?? 0n) > 0n;
}
