import { systemClock } from "../src/platform/clock.ts";
import type { Database } from "../src/platform/db/database.ts";
import { raw } from "../src/platform/db/raw.ts";
import { signatureBits, trigramsOf } from "../src/platform/db/trigrams.ts";
import { createLogger } from "../src/platform/logger.ts";
import { pairTerm, tagTerm } from "../src/traces/runs/term.ts";
import { Partitions } from "../src/traces/storage/postgres/partitions/partition-service.ts";

export const workspaceId = "11111111-1111-4111-8111-111111111111";
export const projectId = "22222222-2222-4222-8222-222222222222";
export const bigTraceId = "33333333-3333-4333-8333-333333333333";
export const rareWord = "zebrafish";
const users = 10_000;
const days = 30;
const batch = 50_000;

/**
 * One project of `runs` runs over the last days, ten to a trace, with payloads of about 1.9 KB, and one
 * trace of a thousand. Made by the database itself; the indexes are built afterwards, as that is quicker.
 */
export async function fillTraces(database: Database, runs: number): Promise<void> {
  const { sql } = database;
  const startedMs = performance.now();
  await prepare(database);
  const indexes = await dropIndexes(database);
  const end = new Date();
  for (let from = 0; from < runs; from += batch) {
    await insertRuns(database, { from, to: Math.min(from + batch, runs) - 1, runs, end });
    console.log(`${Math.min(from + batch, runs)} runs, ${seconds(startedMs)} s`);
  }
  await insertBigTrace(database, end);
  for (const definition of indexes) {
    await raw.raw(definition).execute(sql);
    console.log(`${definition.slice(0, 90)}, ${seconds(startedMs)} s`);
  }
  await raw`insert into trace_feedback (id, workspace_id, run_id, trace_id, project_id, key, score, feedback_source)
    select gen_random_uuid(), workspace_id, id, trace_id, project_id, 'correctness', random(), '{"type": "model"}'
    from trace_runs where is_root and random() < 0.2`.execute(sql);
  await raw.raw("vacuum analyze trace_runs").execute(sql);
  await raw.raw("vacuum analyze trace_feedback").execute(sql);
  const { rows } = await raw<Record<string, string>>`select
      (select pg_size_pretty(sum(pg_relation_size(relid))) from pg_partition_tree('trace_runs') where isleaf) as heap,
      (select pg_size_pretty(sum(pg_indexes_size(relid))) from pg_partition_tree('trace_runs') where isleaf) as indexes`.execute(
    sql,
  );
  console.log(`filled in ${seconds(startedMs)} s`, rows[0]);
}

function seconds(startedMs: number): string {
  return ((performance.now() - startedMs) / 1000).toFixed(0);
}

async function prepare(database: Database): Promise<void> {
  const { sql } = database;
  await raw`insert into organizations (id, name) values (${workspaceId}, 'Bench')`.execute(sql);
  await raw`insert into workspaces (id, organization_id, name)
    values (${workspaceId}, ${workspaceId}, 'Bench')`.execute(sql);
  await raw`insert into trace_projects (id, workspace_id, name) values (${projectId}, ${workspaceId}, 'bench')`.execute(
    sql,
  );
  const partitions = new Partitions({
    database,
    clock: systemClock,
    logger: createLogger({ level: "warn" }),
  });
  const monthAgo = new Date(Date.now() - days * 86_400_000).toISOString();
  await partitions.ensure([monthAgo, new Date().toISOString()]);
  // Terms come from the same code as ingestion's; the database only picks among them.
  await raw`create table bench_users as select number, term from unnest(${Array.from(
    { length: users },
    (_, i) => pairTerm("metadata", "user_id", `user-${i}`),
  )}::int[]) with ordinality as t(term, n), lateral (select n - 1 as number) s`.execute(sql);
  await raw`create unique index on bench_users (number)`.execute(sql);
  const text = Array.from({ length: 1_000 }, (_, i) => wordAt(i)).join(" ");
  await raw`create table bench_text as select ${text}::text as body`.execute(sql);
  await raw`create table bench_trigrams (at int primary key, inputs bit(${raw.raw(String(signatureBits))}),
    outputs bit(${raw.raw(String(signatureBits))}))`.execute(sql);
  const bitsAt = (at: number, length: number) => bitText(text.slice(at, at + length));
  for (let at = 0; at < 5_000; at += 500) {
    const rows = Array.from({ length: 500 }, (_, i) => {
      const [inputs, outputs] = [bitsAt(at + i, 950), bitsAt(at + i, 900)];
      return raw`(${at + i}::int, ${inputs}::bit(${bits}), ${outputs}::bit(${bits}))`;
    });
    await raw`insert into bench_trigrams values ${raw.join(rows)}`.execute(sql);
  }
}

const bits = raw.raw(String(signatureBits));

/** Some words that are frequent and many that are not, as in any language. */
function wordAt(index: number): string {
  const frequent = ["river", "stone", "winter", "answer", "question", "market", "engine", "letter", "garden"];
  if (index % 3 === 0) return frequent[(index * 7919 + (index >> 3)) % frequent.length]!;
  const syllables = [
    "ka",
    "lor",
    "min",
    "te",
    "sul",
    "por",
    "an",
    "ver",
    "dri",
    "go",
    "nis",
    "pha",
    "wem",
    "ux",
  ];
  const at = (place: number) =>
    syllables[(index * (7 + place * 4) + (index >> (place + 2))) % syllables.length];
  return [at(0), at(1), at(2)].join("");
}

function bitText(text: string): string {
  return `x${trigramsOf([Buffer.from(text)])!.toString("hex")}`;
}

async function dropIndexes({ sql }: Database): Promise<string[]> {
  const { rows } = await raw<{ name: string; definition: string }>`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
    from pg_index where indrelid = 'trace_runs'::regclass and not indisprimary`.execute(sql);
  for (const { name } of rows) await raw`drop index ${raw.id(name)}`.execute(sql);
  return rows.map((row) => row.definition.replace(" ON ONLY ", " ON "));
}

type Slice = { from: number; to: number; runs: number; end: Date };

async function insertRuns({ sql }: Database, { from, to, runs, end }: Slice): Promise<void> {
  const stepSeconds = (days * 86_400) / runs;
  const tags = { common: tagTerm("common"), rare: tagTerm("rare") };
  const env = ["prod", "staging"].map((name) => pairTerm("metadata", "env", name));
  await raw`insert into trace_runs (id, workspace_id, project_id, trace_id, parent_run_id, parent_run_ids, is_root, name,
      run_type, start_time, end_time, status, dotted_order, thread_id, tags, metadata, terms, total_tokens,
      prompt_tokens, completion_tokens, total_cost, usage, inputs, outputs, error, extra, trigrams)
    select id, ${workspaceId}, ${projectId}, trace, case when i % 10 > 0 then trace end,
      case when i % 10 > 0 then array[trace] else '{}' end, i % 10 = 0,
      case when i % 20000 = 77 then 'name-rare' else 'name-' || i % 20 end, kind, start,
      start + make_interval(secs => case when luck < 0.005 then 10 + luck * 4000 else luck * 4 end),
      case when failed then 'error' else 'success' end,
      case when i % 10 = 0 then stamp || id else stamp || trace || '.' || stamp || id end,
      case when i % 3 = 0 then 'thread-' || i / 50 % 20000 end,
      case when i % 1000 = 5 then '{common,rare}'::text[] when i % 4 = 0 then '{common}' else '{}' end,
      jsonb_build_object('user_id', 'user-' || u.number, 'env', case when i % 3 = 0 then 'staging' else 'prod' end,
        'revision', 'r' || i % 5, 'ls_model_name', 'model-' || i % 4),
      array[u.term, case when i % 3 = 0 then ${env[1]}::int else ${env[0]}::int end, (i % 5)::int, (i % 4 + 10)::int,
        hashint8(i), hashint8(i + 1000000007), hashint8(i * 31), hashint8(i * 37 + 5)]
        || case when i % 1000 = 5 then array[${tags.common}::int, ${tags.rare}::int]
             when i % 4 = 0 then array[${tags.common}::int] else '{}' end,
      case when kind = 'llm' then i % 900 else 0 end, case when kind = 'llm' then i % 500 else 0 end,
      case when kind = 'llm' then i % 400 else 0 end, case when kind = 'llm' then 0.001 end,
      case when kind = 'llm' then array[i % 500, i % 400, i % 900, 0.0005, 0.0005, 0.001]::float8[] end,
      '{"question":"' || case when i % 20000 = 99 then ${rareWord}::text else '' end
        || substr(text.body, 1 + (i * 131 % 5000)::int, 950) || '"}',
      '{"answer":"' || substr(text.body, 1 + (i * 173 % 5000)::int, 900) || '"}',
      case when failed then 'Error: it broke' end,
      '{"metadata":{"user_id":"user-' || u.number || '"},"runtime":{"sdk":"bench","library":"bench"}}',
      question.inputs | reply.outputs | ${bitText('{"question":"')}::bit(${bits}) | ${bitText('{"answer":"')}::bit(${bits})
        | (${bitText(rareWord)}::bit(${bits}) & case when i % 20000 = 99 then ~ 0::bit(${bits}) else 0::bit(${bits}) end)
    from (
      select i, md5('run' || i)::uuid as id, md5('run' || i / 10 * 10)::uuid as trace,
        ${end.toISOString()}::timestamptz - make_interval(secs => (${runs} - i) * ${stepSeconds}::float8) as start,
        to_char((${end.toISOString()}::timestamptz - make_interval(secs => (${runs} - i) * ${stepSeconds}::float8)),
          'YYYYMMDD"T"HH24MISSUS"Z"') as stamp,
        (array['chain', 'llm', 'tool', 'llm', 'retriever'])[1 + i % 5] as kind,
        random() as luck, random() < 0.02 as failed
      from generate_series(${from}::bigint, ${to}::bigint) i
    ) made
    join bench_users u on u.number = (made.i / 10 * 7919) % ${users}
    join bench_trigrams question on question.at = (made.i * 131 % 5000)::int
    join bench_trigrams reply on reply.at = (made.i * 173 % 5000)::int
    cross join bench_text text`.execute(sql);
}

async function insertBigTrace({ sql }: Database, end: Date): Promise<void> {
  await raw`insert into trace_runs (id, workspace_id, project_id, trace_id, parent_run_id, is_root, name, run_type,
      start_time, end_time, status, dotted_order, inputs, outputs, extra)
    select case when i = 0 then ${bigTraceId}::uuid else md5('big' || i)::uuid end, ${workspaceId}, ${projectId},
      ${bigTraceId}, case when i > 0 then ${bigTraceId}::uuid end, i = 0, 'span', 'chain',
      ${end.toISOString()}::timestamptz - interval '1 hour' + i * interval '1 ms', now(), 'success',
      'root' || case when i > 0 then '.' || lpad(i::text, 6, '0') else '' end,
      '{"question":"' || substr(text.body, i * 5 + 1, 950) || '"}',
      '{"answer":"' || substr(text.body, i * 5 + 7, 900) || '"}', '{}'
    from generate_series(0, 999) i cross join bench_text text`.execute(sql);
}
