import type { Database, Sql, Statement } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { deleteThreadCheckpoints } from "../checkpoints/checkpoint-maintenance-store.ts";
import { type LastConfig, leadingConfig } from "./leading-config.ts";
import type { ThreadRow, ThreadTtl } from "./thread.ts";
import type { ThreadSearch } from "./thread-schemas.ts";
import { holdsWords, mayHoldWords, wordBitsOf, wordsOf } from "./thread-words.ts";

const columnText = `thread_id, status, metadata, config, values_json, interrupts_json, error_json, ttl_minutes,
  ttl_strategy, expires_at, created_at, updated_at, state_updated_at`;
const columns = raw.raw(columnText);

export type NewThread = {
  threadId: string;
  workspaceId: string;
  metadata: Record<string, unknown>;
  ttl: ThreadTtl | null;
};

export const insertThreads: Statement = {
  name: "threads_insert_1",
  text: `with made as (
      insert into threads (thread_id, workspace_id, metadata, ttl_minutes, ttl_strategy, expires_at)
      select q.thread_id, q.workspace_id, q.metadata, q.ttl_minutes, q.ttl_strategy,
        now() + make_interval(secs => q.ttl_minutes * 60)
      from unnest($1::uuid[], $2::uuid[], $3::jsonb[], $4::float8[], $5::text[])
        as q(thread_id, workspace_id, metadata, ttl_minutes, ttl_strategy)
      on conflict (thread_id) do nothing
      returning ${columnText}
    )
    select m.* from unnest($1::uuid[]) with ordinality as q(thread_id, ordinal)
    left join made m on m.thread_id = q.thread_id order by q.ordinal`,
};

export const findThread: Statement = {
  name: "threads_find_1",
  text: `select ${columnText} from threads where thread_id = $1 and workspace_id = $2`,
};

/** One row per thread in the order asked; null where the id was taken. */
export async function insertNewThreads(
  database: Database,
  rows: readonly NewThread[],
): Promise<(ThreadRow | null)[]> {
  const made = await database.query<ThreadRow | { thread_id: null }>(insertThreads, [
    rows.map((row) => row.threadId),
    rows.map((row) => row.workspaceId),
    rows.map((row) => JSON.stringify(row.metadata)),
    rows.map((row) => row.ttl?.minutes ?? null),
    rows.map((row) => row.ttl?.strategy ?? null),
  ]);
  return made.map((row) => (row.thread_id === null ? null : (row as ThreadRow)));
}

export async function findThreadById(
  database: Database,
  workspaceId: string,
  threadId: string,
  condition?: RawBuilder<unknown>,
): Promise<ThreadRow | null> {
  if (condition) {
    const { rows } = await raw<ThreadRow>`select ${columns} from threads
      where thread_id = ${threadId} and workspace_id = ${workspaceId} and ${condition}`.execute(database.sql);
    return rows[0] ?? null;
  }
  const [row] = await database.query<ThreadRow>(findThread, [threadId, workspaceId]);
  return row ?? null;
}

/** The row, locked, so that two changes of one thread follow each other. */
export async function lockThread(sql: Sql, workspaceId: string, threadId: string): Promise<ThreadRow | null> {
  const { rows } = await raw<ThreadRow>`select ${columns} from threads
    where thread_id = ${threadId} and workspace_id = ${workspaceId} for update`.execute(sql);
  return rows[0] ?? null;
}

export type ThreadFilter = Pick<ThreadSearch, "metadata" | "values" | "status" | "ids" | "query"> & {
  workspaceId: string;
  /** Conditions of a custom auth handler, already as SQL. */
  condition?: RawBuilder<unknown> | undefined;
};

function whereOf(filter: ThreadFilter): RawBuilder<unknown> {
  const parts = [raw`workspace_id = ${filter.workspaceId}`];
  if (filter.metadata && Object.keys(filter.metadata).length > 0) {
    parts.push(raw`metadata @> ${JSON.stringify(filter.metadata)}::jsonb`);
  }
  if (filter.values && Object.keys(filter.values).length > 0) {
    parts.push(raw`jsonb_or_null(values_json) @> ${JSON.stringify(filter.values)}::jsonb`);
  }
  if (filter.status) parts.push(raw`status = ${filter.status}`);
  if (filter.ids) parts.push(raw`thread_id = any(${filter.ids}::uuid[])`);
  if (filter.condition) parts.push(filter.condition);
  const words = wordsOf(filter.query ?? "");
  if (words.length > 0) parts.push(holdsWords(words));
  return raw.join(parts, raw` and `);
}

/**
 * The threads in order; for a search by words, those that may contain them. An index holds only the bits of the words,
 * in the order of the last update, so the rows of other threads are not read. The two offsets keep the planner from
 * using a join where single lookups are wanted.
 */
function threadsFor(
  { query, workspaceId }: ThreadFilter,
  { sort_by: by, sort_order: order }: Pick<ThreadSearch, "sort_by" | "sort_order">,
): { from: RawBuilder<unknown>; orderBy: RawBuilder<unknown> } {
  const column = by ?? "created_at";
  const direction = raw.raw(order ?? "desc");
  const may = mayHoldWords(wordsOf(query ?? ""));
  if (!may) {
    return {
      from: raw`threads`,
      orderBy: raw`order by ${raw.ref(column)} ${direction}, thread_id ${direction}`,
    };
  }
  return {
    from: raw`(
      select may.thread_id as found_id, ${raw.ref(`may.${column}`)} as sorted_by from threads may
      where may.workspace_id = ${workspaceId} and ${may}
      order by ${raw.ref(`may.${column}`)} ${direction}, may.thread_id ${direction} offset 0
    ) found cross join lateral (select * from threads t where t.thread_id = found.found_id offset 0) threads`,
    orderBy: raw`order by found.sorted_by ${direction}, found.found_id ${direction}`,
  };
}

/** How far beyond its page a search counts. To count all would cost more than the page, and ever more. */
const countedBeyondPage = 1_000;

/** `total` is exact up to a thousand beyond the page (a hundred for words), and that number where there are more. */
export async function searchThreads(
  sql: Sql,
  filter: ThreadFilter,
  page: Pick<ThreadSearch, "limit" | "offset" | "sort_by" | "sort_order">,
): Promise<{ rows: ThreadRow[]; total: number }> {
  if (wordsOf(filter.query ?? "").length > 0) return searchWords(sql, filter, page);
  const { from, orderBy } = threadsFor(filter, page);
  const [{ rows }, total] = await Promise.all([
    raw<ThreadRow>`select ${columns} from ${from} where ${whereOf(filter)}
      ${orderBy} limit ${page.limit} offset ${page.offset}`.execute(sql),
    countThreads(sql, filter, page.offset + page.limit + countedBeyondPage),
  ]);
  return { rows, total };
}

/** For words: each thread that is looked into costs, so they are looked for once and counted less far. */
const wordsCountedBeyondPage = 100;

async function searchWords(
  sql: Sql,
  filter: ThreadFilter,
  page: Pick<ThreadSearch, "limit" | "offset" | "sort_by" | "sort_order">,
): Promise<{ rows: ThreadRow[]; total: number }> {
  const few = await fewByMetadata(sql, filter);
  const { from, orderBy } = threadsFor(few ? { ...filter, query: null } : filter, page);
  const among = few ? raw`thread_id = any(${few}::uuid[]) and ` : raw``;
  const { rows: found } = await raw<{
    thread_id: string;
  }>`select thread_id from ${from} where ${among}${whereOf(filter)}
    ${orderBy} limit ${page.offset + page.limit + wordsCountedBeyondPage}`.execute(sql);
  const ids = found.slice(page.offset, page.offset + page.limit).map(({ thread_id }) => thread_id);
  const { rows } = await raw<ThreadRow>`select ${columns} from threads
    where workspace_id = ${filter.workspaceId} and thread_id = any(${ids}::uuid[])`.execute(sql);
  const places = new Map(ids.map((id, place) => [id, place]));
  rows.sort((one, other) => places.get(one.thread_id)! - places.get(other.thread_id)!);
  return { rows, total: found.length };
}

/** So many are looked into one by one; where there are more, their bits are asked first. */
const fewThreads = 1_000;

/** The threads with that metadata when they are few: an index knows them, and the words are looked for in them alone. */
async function fewByMetadata(sql: Sql, { workspaceId, metadata }: ThreadFilter): Promise<string[] | null> {
  if (!metadata || Object.keys(metadata).length === 0) return null;
  const { rows } = await raw<{ thread_id: string }>`select thread_id from threads
    where ${whereOf({ workspaceId, metadata })} limit ${fewThreads + 1}`.execute(sql);
  return rows.length > fewThreads ? null : rows.map(({ thread_id }) => thread_id);
}

export async function countThreads(sql: Sql, filter: ThreadFilter, atMost?: number): Promise<number> {
  const limit = atMost === undefined ? raw`` : raw`limit ${atMost}`;
  const { rows } = await raw<{ count: number }>`select count(*)::int as count from (
    select 1 from ${threadsFor(filter, {}).from} where ${whereOf(filter)} ${limit}) counted`.execute(sql);
  return rows[0]!.count;
}

export async function patchThread(
  sql: Sql,
  threadId: string,
  patch: { metadata: Record<string, unknown>; ttl: ThreadTtl | undefined },
): Promise<ThreadRow> {
  const { rows } = await raw<ThreadRow>`update threads set
      metadata = metadata || ${JSON.stringify(patch.metadata)}::jsonb,
      ttl_minutes = coalesce(${patch.ttl?.minutes ?? null}::float8, ttl_minutes),
      ttl_strategy = coalesce(${patch.ttl?.strategy ?? null}, ttl_strategy),
      expires_at = case when ${patch.ttl?.minutes ?? null}::float8 is null then expires_at
        else now() + make_interval(secs => ${patch.ttl?.minutes ?? null}::float8 * 60) end,
      updated_at = now()
    where thread_id = ${threadId} returning ${columns}`.execute(sql);
  return rows[0]!;
}

/** What the thread looks like after its state was changed outside a run. */
export async function saveThreadState(
  sql: Sql,
  threadId: string,
  state: { valuesJson: string; interruptsJson: string; status: string; metadata: Record<string, unknown> },
): Promise<void> {
  await raw`update threads set values_json = ${state.valuesJson},
      trigrams = ${wordBitsOf(state.valuesJson)}::text::bit(1024), interrupts_json = ${state.interruptsJson},
      status = ${state.status}, metadata = metadata || ${JSON.stringify(state.metadata)}::jsonb, error_json = null,
      updated_at = now(), state_updated_at = now()
    where thread_id = ${threadId}`.execute(sql);
}

export async function copyThreadRow(sql: Sql, from: string, to: string): Promise<void> {
  await raw`insert into threads (thread_id, workspace_id, status, metadata, config, values_json, trigrams, interrupts_json,
      ttl_minutes, ttl_strategy, expires_at)
    select ${to}::uuid, workspace_id, case when status = 'busy' then 'idle' else status end,
      metadata || jsonb_build_object('thread_id', ${to}::text), config, values_json, trigrams, interrupts_json,
      ttl_minutes, ttl_strategy, now() + make_interval(secs => ttl_minutes * 60)
    from threads where thread_id = ${from}`.execute(sql);
}

export async function hasActiveRun(sql: Sql, threadId: string): Promise<boolean> {
  const { rows } = await raw`select 1 from runs
    where thread_id = ${threadId} and status in ('pending', 'running') limit 1`.execute(sql);
  return rows.length > 0;
}

/** Of the kwargs of a run: the config of nearly all is shorter, and what follows it may be megabytes. */
const beginningChars = 16_384;

/** What the last run of a graph on a thread was configured with; empty when its run is gone. */
export async function findLastConfig(sql: Sql, threadId: string, graphId: string): Promise<LastConfig> {
  const { rows } = await raw<{ run_id: string; beginning: string }>`select run_id,
      substr(kwargs_json, 1, ${beginningChars}::int) as beginning from runs
    where thread_id = ${threadId} and graph_id = ${graphId}
    order by created_at desc, run_id desc limit 1`.execute(sql);
  const [last] = rows;
  if (!last) return {};
  const config = leadingConfig(last.beginning);
  if (config) return config;
  const isWhole = last.beginning.length < beginningChars;
  return isWhole ? configOf(last.beginning) : readConfig(sql, last.run_id);
}

async function readConfig(sql: Sql, runId: string): Promise<LastConfig> {
  const { rows } = await raw<{ kwargs_json: string }>`select kwargs_json from runs
    where run_id = ${runId}`.execute(sql);
  return configOf(rows[0]?.kwargs_json ?? "{}");
}

function configOf(kwargsJson: string): LastConfig {
  const { config } = JSON.parse(kwargsJson) as { config?: LastConfig };
  return config ?? {};
}

/** Those of the ids that belong to the workspace. */
export async function ownThreadIds(
  sql: Sql,
  workspaceId: string,
  threadIds: string[],
  condition: RawBuilder<unknown> = raw`true`,
): Promise<string[]> {
  const { rows } = await raw<{ thread_id: string }>`select thread_id from threads
    where workspace_id = ${workspaceId} and thread_id = any(${threadIds}::uuid[]) and ${condition}`.execute(
    sql,
  );
  return rows.map((row) => row.thread_id);
}

/** Removes threads with their runs and checkpoints; call it in a transaction. */
export async function deleteThreadRows(sql: Sql, threadIds: readonly string[]): Promise<void> {
  await raw`delete from threads where thread_id = any(${threadIds})`.execute(sql);
  await deleteThreadCheckpoints(sql, threadIds);
}

export async function deleteThreadEvents(sql: Sql, threadIds: readonly string[]): Promise<void> {
  await raw`delete from thread_events where thread_id = any(${threadIds})`.execute(sql);
}

export const expiredStatement: Statement = {
  name: "threads_expired_v2",
  text: "select coalesce((select min(expires_at) from threads) <= now(), false) as due",
};

export async function hasExpiredThreads(database: Pick<Database, "background">): Promise<boolean> {
  const [row] = await database.background<{ due: boolean }>(expiredStatement, []);
  return row!.due;
}

/** Expired threads without active runs, locked until they are dealt with. Runs are looked up one by one: a join may read all. */
export async function lockExpiredThreads(
  sql: Sql,
  limit: number,
): Promise<{ thread_id: string; ttl_strategy: "delete" | "keep_latest" | null }[]> {
  const { rows } = await raw<{ thread_id: string; ttl_strategy: "delete" | "keep_latest" | null }>`
    select thread_id, ttl_strategy from threads t
    where expires_at <= now() and (
      select true from runs r where r.thread_id = t.thread_id and r.status in ('pending', 'running') limit 1) is null
    order by expires_at limit ${limit} for update skip locked`.execute(sql);
  return rows;
}

export async function clearExpiry(sql: Sql, threadIds: readonly string[]): Promise<void> {
  await raw`update threads set expires_at = null where thread_id = any(${threadIds})`.execute(sql);
}
