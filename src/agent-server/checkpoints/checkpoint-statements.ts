import type { Statement } from "../../platform/db/database.ts";
import type { CheckpointQuery } from "./checkpoint.ts";

/**
 * Writes a batch into all three tables in one implicit transaction and returns the fences that hold.
 * Rows without a fence are always written; rows under a fence that does not hold are left out. The runs are
 * looked at, not locked: locks here and in the heartbeats' batches could deadlock. A flush that began just
 * before a takeover may so commit just after it; its checkpoint is then older than all the new attempt writes.
 *
 * If a version that a value adds to is gone, or somebody is about to delete it, nothing is written and one row says so.
 * It is locked, so that nobody deletes it before this commits.
 */
export const writeBatchStatement: Statement = {
  name: "checkpoints_write_v4",
  text: `
with fence as materialized (
  select f.position, f.run_id
  from unnest((select $1::uuid[]), $2::int[]) with ordinality as f(run_id, attempt, position)
  where (select r.attempt = f.attempt and r.status = 'running' from runs r where r.run_id = f.run_id)
), additions as materialized (
  select distinct n.thread_id, n.checkpoint_ns, n.channel, n.base_version
  from unnest((select $12::text[]), $13::text[], $14::text[], $19::text[])
    as n(thread_id, checkpoint_ns, channel, base_version)
  where n.base_version is not null
), bases as materialized (
  select from additions a
  cross join lateral (
    select from checkpoint_blobs b
    where b.thread_id = a.thread_id and b.checkpoint_ns = a.checkpoint_ns and b.channel = a.channel
      and b.version = a.base_version
    limit 1 for key share skip locked
  ) b
), lost as materialized (
  select (select count(*) from bases) < (select count(*) from additions) as some_base
), new_checkpoints as (
  insert into checkpoints (
    thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, run_id, structure, metadata,
    blob_channels, blob_versions
  )
  select n.thread_id, n.checkpoint_ns, n.checkpoint_id, n.parent_checkpoint_id, f.run_id, n.structure,
    n.metadata, n.blob_channels::text[], n.blob_versions::text[]
  from unnest((select $3::text[]), $4::text[], $5::text[], $6::text[], $7::int[], $8::text[], $9::text[],
    $10::text[], $11::text[]) as n(thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, fence,
    structure, metadata, blob_channels, blob_versions)
  left join fence f on f.position = n.fence
  where not (select some_base from lost) and (n.fence is null or f.position is not null)
  on conflict (thread_id, checkpoint_ns, checkpoint_id) do update set
    parent_checkpoint_id = excluded.parent_checkpoint_id, run_id = excluded.run_id,
    structure = excluded.structure, metadata = excluded.metadata,
    blob_channels = excluded.blob_channels, blob_versions = excluded.blob_versions
), new_blobs as (
  insert into checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, payload, base_version)
  select n.thread_id, n.checkpoint_ns, n.channel, n.version, n.type, n.payload, n.base_version
  from unnest((select $12::text[]), $13::text[], $14::text[], $15::text[], $16::int[], $17::text[], $18::text[],
    $19::text[]) as n(thread_id, checkpoint_ns, channel, version, fence, type, payload, base_version)
  where not (select some_base from lost) and (n.fence is null or n.fence in (select position from fence))
  on conflict (thread_id, checkpoint_ns, channel, version) do nothing
), new_writes as (
  insert into checkpoint_writes (
    thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, run_id, type, payload
  )
  select n.thread_id, n.checkpoint_ns, n.checkpoint_id, n.task_id, n.idx, n.channel, f.run_id, n.type,
    n.payload
  from unnest((select $20::text[]), $21::text[], $22::text[], $23::text[], $24::int[], $25::text[], $26::int[],
    $27::text[], $28::text[]) as n(thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, fence,
    type, payload)
  left join fence f on f.position = n.fence
  where not (select some_base from lost) and (n.fence is null or f.position is not null)
  on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) do update set
    channel = excluded.channel, run_id = excluded.run_id, type = excluded.type, payload = excluded.payload
    where checkpoint_writes.idx < 0
)
select position::int as position from fence where not (select some_base from lost)
union all
select null from lost where some_base`,
};

/** A fence that holds, or null alone: nothing was written. */
export type WrittenRow = { position: number | null };

/** One row of a reading statement; what `a` to `d` hold depends on the kind. */
export type ReadRow = {
  kind: "checkpoint" | "blob" | "write" | "thread";
  /** Which checkpoint of the answer; with blobs nothing, they are found by thread, namespace and version. */
  position: number | null;
  thread_id: string;
  checkpoint_ns: string;
  /** checkpoint id | channel | task id | nothing */
  a: string;
  /** parent checkpoint id | version | channel | the graph that last ran on the thread */
  b: string | null;
  /** metadata | type | type | nothing */
  c: string;
  /** structure | payload | payload | nothing */
  d: string;
  idx: number | null;
  /** Of a value that is stored as an addition: the version it adds to. */
  base_version: string | null;
  blob_channels: string[] | null;
  blob_versions: string[] | null;
};

const blobOf = (asked: string, version: string) => `
  cross join lateral (
    select * from checkpoint_blobs b
    where b.thread_id = ${asked}.thread_id and b.checkpoint_ns = ${asked}.checkpoint_ns
      and b.channel = ${asked}.channel and b.version = ${asked}.${version}
    limit 1
  ) b`;

/**
 * Values and writes come as rows of their own, not as arrays: the driver is slow at parsing large arrays. Limit and
 * offset keep the planner at the indexes, also of tables that were small when it made the plan. Versions that others
 * add to come with them, each once.
 */
const partsOfFound = `, blobs as materialized (
  select b.*
  from (
    select distinct found.thread_id, found.checkpoint_ns, k.channel, k.version
    from found cross join lateral unnest(found.blob_channels, found.blob_versions) as k(channel, version)
  ) k${blobOf("k", "version")}
)
select 'checkpoint' as kind, found.position, found.thread_id, found.checkpoint_ns, found.checkpoint_id as a,
  found.parent_checkpoint_id as b, found.metadata as c, found.structure as d, null::int as idx,
  null as base_version, found.blob_channels, found.blob_versions
from found
union all
select 'blob', null, b.thread_id, b.checkpoint_ns, b.channel, b.version, b.type, b.payload, null, b.base_version,
  null, null
from blobs b
union all
select 'blob', null, b.thread_id, b.checkpoint_ns, b.channel, b.version, b.type, b.payload, null, null, null, null
from (
  select thread_id, checkpoint_ns, channel, base_version from blobs where base_version is not null
  except select thread_id, checkpoint_ns, channel, version from blobs
) k${blobOf("k", "base_version")}
union all
select 'write', found.position, w.thread_id, w.checkpoint_ns, w.task_id, w.channel, w.type, w.payload, w.idx,
  null, null, null
from found
cross join lateral (
  select * from checkpoint_writes w
  where w.thread_id = found.thread_id and w.checkpoint_ns = found.checkpoint_ns
    and w.checkpoint_id = found.checkpoint_id
  offset 0
) w`;

const columnsOfFound = `c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.metadata,
  c.structure, c.blob_channels, c.blob_versions`;

/** Of each that is asked for, the newest checkpoint between two ids: by id both ends are that id. */
const newestOf = (asked: string, threadId: string) => `
  cross join lateral (
    select ${columnsOfFound}
    from checkpoints c
    where c.thread_id = ${asked}.${threadId} and c.checkpoint_ns = ${asked}.checkpoint_ns
      and c.checkpoint_id >= ${asked}.low and c.checkpoint_id <= ${asked}.high
    order by c.checkpoint_id desc
    limit 1
  ) c`;

/** For many threads at once. */
export const readStatement: Statement = {
  name: "checkpoints_read_v4",
  text: `
with found as materialized (
  select q.position::int as position, c.*
  from unnest((select $1::text[]), $2::text[], $3::text[], $4::text[])
    with ordinality as q(thread_id, checkpoint_ns, low, high, position)${newestOf("q", "thread_id")}
)${partsOfFound}`,
};

/** What a reader needs to know of a thread; not its values, which are as long as a checkpoint. */
const columnsOfThread = `t.thread_id, case when jsonb_typeof(t.metadata->'graph_id') = 'string'
    then t.metadata->>'graph_id' end as graph_id`;

/** Threads without a checkpoint have a row too: that says that they exist. */
const threadsOf = (asked: string, position: string) => `
union all
select 'thread', ${position}, ${asked}.thread_id::text, '', '', ${asked}.graph_id, '', '', null, null, null, null
from ${asked}`;

/** `readStatement` for callers of a workspace: the threads that are not its own are left out. */
export const readOwnStatement: Statement = {
  name: "checkpoints_read_own_v3",
  text: `
with own as materialized (
  select q.position::int as position, t.thread_id, t.graph_id, q.thread_id as asked_id, q.checkpoint_ns, q.low,
    q.high
  from unnest((select $1::text[]), $2::text[], $3::text[], $4::text[], $5::uuid[])
    with ordinality as q(thread_id, checkpoint_ns, low, high, workspace_id, position)
  cross join lateral (
    select ${columnsOfThread}
    from threads t
    where t.thread_id = q.thread_id::uuid and t.workspace_id = q.workspace_id
    limit 1
  ) t
), found as materialized (
  select own.position, c.*
  from own${newestOf("own", "asked_id")}
)${partsOfFound}${threadsOf("own", "own.position")}`,
};

/** Sorts after every checkpoint id. */
export const highestId = "\u{10ffff}";

export const readChannelWritesStatement: Statement = {
  name: "checkpoints_read_channel_writes_v1",
  text: `
select type, payload from checkpoint_writes
where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = $3 and channel = $4
order by task_id, idx`,
};

/** The graph's own checkpoints only: those of a subgraph do not prove that the run has begun its first step. */
export const hasRunCheckpointStatement: Statement = {
  name: "checkpoints_of_run_v1",
  text: `
select 1 as found from checkpoints
where thread_id = $1 and checkpoint_ns = '' and run_id = $2::uuid
order by checkpoint_id desc limit 1`,
};

export type ListCursor = { checkpointId: string; checkpointNs: string; threadId: string };

/** What jsonb refuses, in the escaped form JSON text has it. Only the comparison sees the replacement. */
const refusedEscape = "\\\\u(0000|d[89a-f][0-9a-f]{2})";

export function comparableJson(json: string): string {
  return json.replaceAll(new RegExp(refusedEscape, "gi"), "\\ufffd");
}

/** The threads of a workspace alone. */
export type OwnQuery = CheckpointQuery & { threadId: string; workspaceId: string };

/**
 * Newest first. The text depends on which conditions there are, and so does the name. With a workspace, the answer
 * also says whether the thread is its own; of another it has nothing.
 */
export function listStatement(
  query: CheckpointQuery | OwnQuery,
  cursor: ListCursor | undefined,
  limit: number,
): { statement: Statement; values: unknown[] } {
  const values: unknown[] = [limit];
  const conditions: string[] = [];
  let shape = "";
  const add = (letter: string, condition: (place: string) => string, value: unknown) => {
    values.push(value);
    conditions.push(condition(`$${values.length}`));
    shape += letter;
  };
  if (query.threadId !== undefined) add("t", (p) => `c.thread_id = ${p}`, query.threadId);
  if (query.checkpointNs !== undefined) add("n", (p) => `c.checkpoint_ns = ${p}`, query.checkpointNs);
  if (query.checkpointId !== undefined) add("i", (p) => `c.checkpoint_id = ${p}`, query.checkpointId);
  if (query.before !== undefined) add("b", (p) => `c.checkpoint_id < ${p}`, query.before);
  if (query.filter !== undefined && Object.keys(query.filter).length > 0) {
    add(
      "f",
      (p) => `regexp_replace(c.metadata, '${refusedEscape}', '\\\\ufffd', 'gi')::jsonb @> ${p}::text::jsonb`,
      comparableJson(JSON.stringify(query.filter)),
    );
  }
  if (cursor !== undefined) {
    add("c", (p) => `c.checkpoint_id <= ${p}`, cursor.checkpointId);
    const at = values.push(cursor.checkpointNs, cursor.threadId);
    conditions.push(`(c.checkpoint_id, c.checkpoint_ns, c.thread_id) < ($${at - 2}, $${at - 1}, $${at})`);
  }
  let own = "";
  if ("workspaceId" in query) {
    add("w", () => "exists (select from own)", query.workspaceId);
    const at = values.push(query.threadId);
    own = `own as materialized (
  select ${columnsOfThread} from threads t where t.thread_id = $${at}::uuid and t.workspace_id = $${at - 1}::uuid
), `;
  }
  const where = conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`;
  return {
    statement: {
      name: `checkpoints_list_${shape}_v3`,
      text: `
with ${own}found as materialized (
  select (row_number() over (order by c.checkpoint_id desc, c.checkpoint_ns desc, c.thread_id desc))::int
    as position, c.*
  from (
    select ${columnsOfFound}
    from checkpoints c
    ${where}
    order by c.checkpoint_id desc, c.checkpoint_ns desc, c.thread_id desc
    limit $1
  ) c
)${partsOfFound}${own === "" ? "" : threadsOf("own", "null")}`,
    },
    values,
  };
}
