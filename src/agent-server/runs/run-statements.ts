import type { Statement } from "../../platform/db/database.ts";
import { lastProtocolSeq } from "../delivery/event-store.ts";
import { runsChannel } from "./run.ts";

/** Columns of a run, in the order every statement below returns them. */
export const runColumns = `run_id, thread_id, workspace_id, assistant_id, graph_id, status, multitask_strategy,
  metadata, kwargs_json, temporary, attempt, cancel_action, error_json, created_at, updated_at, started_at, ended_at`;

const prefixed = runColumns.replaceAll(/\b([a-z_]+)\b/g, "r.$1");

/**
 * Highest event number of a thread, also when its last writer died before it could record it, and when another thread
 * had its id: events outlive a thread that goes with its run.
 */
const lastSeqOf = (threadId: string) =>
  `greatest(t.last_seq, coalesce((select max(e.seq) from thread_events e where e.thread_id = ${threadId}), 0))`;
const lastSeq = lastSeqOf("t.thread_id");

/**
 * Thread and assistant of a run to be created, for many requests at once. The limits of one keep the planner at the
 * indexes: a plan is kept for as long as its connection, and one made while a table was small would read all of it.
 */
export const findTargets: Statement = {
  name: "runs_find_targets_3",
  text: `select q.ordinal::int as ordinal,
      t.thread_id, t.metadata as thread_metadata, t.config as thread_config,
      a.assistant_id, a.graph_id, a.config as assistant_config, a.context as assistant_context,
      a.metadata as assistant_metadata
    from unnest((select $1::uuid[]), $2::uuid[], $3::uuid[]) with ordinality as q(workspace_id, thread_id, assistant_id, ordinal)
    left join lateral (
      select thread_id, workspace_id, metadata, config from threads where thread_id = q.thread_id limit 1
    ) t on t.workspace_id = q.workspace_id
    left join lateral (
      select assistant_id, graph_id, config, context, metadata from assistants
      where assistant_id = q.assistant_id and workspace_id = q.workspace_id limit 1
    ) a on true
    order by q.ordinal`,
};

/**
 * Creates threads where asked, inserts runs and claims those that may start at once, in one statement, which also writes
 * the first event of each that starts. A thread's second run in the same batch finds it busy. Two processes that race for one thread meet at the index
 * `runs_one_running`, and the loser tries again. So does a process whose commit was not confirmed: it then finds the
 * rows it wrote. The same commit notifies the workers that may take waiting runs, so this process cannot die and leave
 * a run without a notification; it says whose turn it is to take them.
 */
export const insertRuns: Statement = {
  name: "runs_insert_12",
  text: `with q as (
      select * from unnest((select $1::uuid[]), $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[],
        $8::text[], $9::boolean[], $10::boolean[], $11::boolean[], $12::float8[], $13::text[], $14::text[],
        $17::float8[], $18::text[], $19::boolean[], $21::text[])
      with ordinality as q(run_id, thread_id, workspace_id, assistant_id, graph_id, strategy, metadata, kwargs_json,
        temporary, create_thread, claim, delay_seconds, thread_metadata, thread_config, ttl_minutes, ttl_strategy,
        speaks_protocol, beginning, ordinal)
    ), made as (
      insert into threads (thread_id, workspace_id, status, metadata, config, ttl_minutes, ttl_strategy, expires_at,
        protocol)
      select thread_id, workspace_id, 'busy', thread_metadata::jsonb, thread_config::jsonb, ttl_minutes, ttl_strategy,
        now() + make_interval(secs => ttl_minutes * 60), speaks_protocol
      from q where create_thread
      on conflict (thread_id) do nothing
      returning thread_id
    ), seen as (
      select q.*,
        m.thread_id is not null as new_thread,
        t.thread_id is not null as old_thread,
        coalesce(t.protocol, false) as protocol,
        ${lastSeqOf("q.thread_id")} as last_seq,
        case when t.thread_id is null then 0 else ${lastProtocolSeq} end as protocol_seq,
        exists (select 1 from q earlier where earlier.thread_id = q.thread_id and earlier.ordinal < q.ordinal)
        or (t.thread_id is not null and coalesce(
          (select r.run_id from runs r where r.thread_id = q.thread_id and r.status = 'running' limit 1),
          (select r.run_id from runs r where r.thread_id = q.thread_id and r.status = 'pending' limit 1)
        ) is not null) as active
      from q
      left join made m on m.thread_id = q.thread_id
      left join lateral (
        select thread_id, workspace_id, protocol, last_seq, protocol_seq from threads
        where thread_id = q.thread_id limit 1
      ) t on t.workspace_id = q.workspace_id
    ), allowed as (
      select *, claim and not active and delay_seconds = 0 as starts from seen
      where (new_thread or old_thread) and not (strategy = 'reject' and active)
    ), inserted as (
      insert into runs (run_id, thread_id, workspace_id, assistant_id, graph_id, status, multitask_strategy, metadata,
        kwargs_json, temporary, available_at, attempt, lease_owner, lease_expires_at, started_at)
      select run_id, thread_id, workspace_id, assistant_id, graph_id,
        case when starts then 'running' else 'pending' end, strategy, metadata::jsonb, kwargs_json, temporary,
        now() + make_interval(secs => delay_seconds),
        case when starts then 1 else 0 end,
        case when starts then $15::uuid end,
        case when starts then now() + make_interval(secs => $16::float8) end,
        case when starts then now() end
      from allowed
      on conflict (run_id) do nothing
      returning run_id, status, attempt, created_at
    ), begun as (
      insert into thread_events (thread_id, seq, run_id, family, name, data, number)
      select s.thread_id, s.last_seq + 1, s.run_id, 'run', 'metadata', s.beginning, 0
      from seen s join inserted i on i.run_id = s.run_id
      where i.status = 'running'
    ), marked as (
      update threads t set status = 'busy', updated_at = now(),
        metadata = t.metadata || jsonb_build_object('graph_id', a.graph_id, 'assistant_id', a.assistant_id::text)
      from allowed a
      where a.old_thread and not a.active and t.thread_id = a.thread_id
    )
    select s.ordinal::int as ordinal, s.new_thread or s.old_thread as thread_found, s.new_thread, s.active, s.protocol,
      coalesce(w.before_first, s.last_seq) as last_seq, s.protocol_seq,
      coalesce(i.status, w.status) as status, coalesce(i.attempt, w.attempt) as attempt,
      coalesce(i.created_at, w.created_at) as created_at,
      case when i.status = 'pending' then pg_notify('${runsChannel}', 'wake:' || $20::int)::text end as announced
    from seen s left join inserted i on i.run_id = s.run_id
    left join lateral (
      select r.attempt, r.created_at,
        case when r.status = 'running' and r.lease_owner is distinct from $15::uuid then 'pending' else r.status end as status,
        (select min(e.seq) - 1 from thread_events e where e.run_id = s.run_id) as before_first
      from runs r where i.run_id is null and r.run_id = s.run_id limit 1
    ) w on true
    order by s.ordinal`,
};

/**
 * Takes due runs whose thread is free, oldest first within each thread. The thread's last number is read from the row
 * as it was locked: the end of a run that was cancelled in the queue may have been numbered a moment ago.
 */
const claimText = (condition: string) => `with due as (
      select r.run_id from runs r
      where r.status = 'pending' and r.ended_at is null and r.available_at <= now() and r.graph_id = any($4::text[])
        and ${condition}
        and not exists (select 1 from runs b where b.thread_id = r.thread_id and b.status = 'running')
        and not exists (
          select 1 from runs e where e.thread_id = r.thread_id and e.status = 'pending' and e.available_at <= now()
            and (e.created_at, e.run_id) < (r.created_at, r.run_id))
      order by r.created_at, r.run_id
      limit $1
      for update skip locked
    ), claimed as (
      update runs r set status = 'running', attempt = r.attempt + 1, lease_owner = $2::uuid,
        lease_expires_at = now() + make_interval(secs => $3::float8), updated_at = now(),
        started_at = coalesce(r.started_at, now())
      from due where r.run_id = due.run_id
      returning ${prefixed}, r.excused, r.alone
    ), marked as (
      update threads t set status = 'busy', updated_at = now(),
        metadata = t.metadata || jsonb_build_object('graph_id', c.graph_id, 'assistant_id', c.assistant_id::text)
      from claimed c where t.thread_id = c.thread_id
      returning t.thread_id, t.protocol, t.last_seq, t.protocol_seq
    )
    select c.*, t.protocol, ${lastSeq} as last_seq, ${lastProtocolSeq} as protocol_seq from claimed c join marked t on t.thread_id = c.thread_id`;

export const claimRuns: Statement = { name: "runs_claim_5", text: claimText("not r.alone") };

/** One that is to have a process to itself: for one that has nothing to do, or when none was found for a minute. */
export const claimLoneRun: Statement = {
  name: "runs_claim_lone_2",
  text: claimText("r.alone and ($5::boolean or r.updated_at < now() - interval '60 seconds')"),
};

/**
 * What there is to do, asked at every heartbeat: a wake-up may be lost. When the next run becomes due, or the next lease
 * is over for a second, is returned as a time from now, by the one clock all processes share. That second takes those
 * that end one after another together.
 */
export const lookForWork: Statement = {
  name: "runs_look_2",
  text: `select
      (select r.run_id from runs r where r.status = 'running' and r.lease_owner is not null
        and r.lease_expires_at < now() limit 1) is not null as expired,
      (select r.run_id from runs r where r.status = 'pending' and r.ended_at is null
        and r.available_at <= now() limit 1) is not null as due,
      (select r.run_id from runs r where r.status = 'pending' and r.ended_at is null
        and r.available_at <= now() and r.alone limit 1) is not null as lone,
      extract(epoch from least(
        (select min(r.available_at) from runs r
          where r.status = 'pending' and r.ended_at is null and r.available_at > now()),
        (select min(r.lease_expires_at) + interval '1 second' from runs r
          where r.status = 'running' and r.lease_owner is not null and r.lease_expires_at > now())
      ) - clock_timestamp())::float8 * 1000 as next_due_ms`,
};

/**
 * Extends leases of this process and reports what was asked of its runs meanwhile. Named one by one: a run that was
 * claimed by a commit that was not confirmed must not stay with a process that does not know of it.
 */
export const heartbeatRuns: Statement = {
  name: "runs_heartbeat_2",
  text: `update runs set lease_expires_at = now() + make_interval(secs => $2::float8)
    where run_id = any($3::uuid[]) and lease_owner = $1::uuid and coalesce(status) = 'running'
    returning run_id, attempt, cancel_action`,
};

/** Runs whose process is gone: back to the queue, or out of attempts. */
export const expireLeases: Statement = {
  name: "runs_expire_3",
  text: `update runs set status = 'pending', lease_owner = null, lease_expires_at = null, updated_at = now()
    where status = 'running' and lease_owner is not null and lease_expires_at < now()
      and attempt - excused < $1
    returning run_id, thread_id, attempt`,
};

/** Every run a process holds. */
export const runsOfProcess: Statement = {
  name: "",
  text: "select run_id, attempt, excused from runs where lease_owner = $1::uuid and status = 'running'",
};

export const exhaustedRuns: Statement = {
  name: "runs_exhausted_4",
  text: `select ${prefixed}, r.excused, r.alone, t.protocol, ${lastSeq} as last_seq, ${lastProtocolSeq} as protocol_seq
    from runs r join threads t on t.thread_id = r.thread_id
    where r.status = 'running' and r.lease_owner is not null and r.lease_expires_at < now()
      and r.attempt - r.excused >= $1
    limit 100`,
};

const stillHeld = "(r.attempt = q.attempt and r.status = 'running' and r.lease_owner = $5::uuid)";

const usedUp = "(r.attempt - r.excused - q.excused::int >= $6::int)";

/**
 * Gives runs back: the next attempt continues from the last checkpoint. Attempts only count up: a number given out twice
 * would let what the stopping process still writes pass as the next one's; so an excused one is counted beside them,
 * also when another process has taken the run meanwhile. Where no attempt is left the lease ends: the next sweep ends
 * the run.
 */
export const handBack: Statement = {
  // Without a name it is planned each time: it is rare, and a plan made for an empty table would read all of it.
  name: "",
  text: `with q as (
      select * from unnest($1::uuid[], $2::int[], $3::boolean[], $4::boolean[]) as q(run_id, attempt, excused, alone)
    )
    update runs r set
      excused = least(r.excused + q.excused::int, r.attempt),
      alone = coalesce(q.alone, r.alone),
      status = case when ${stillHeld} and not ${usedUp} then 'pending' else r.status end,
      lease_owner = case when ${stillHeld} and not ${usedUp} then null else r.lease_owner end,
      lease_expires_at = case when not ${stillHeld} then r.lease_expires_at when ${usedUp} then now() end,
      updated_at = now()
    from q where r.run_id = q.run_id and r.attempt >= q.attempt
      and coalesce(r.status) in ('pending', 'running')
    returning r.run_id`,
};

/**
 * Ends runs, brings their threads up to date and writes each log's last entries, fenced on the attempt: what invites
 * an answer, the last event for clients of the streaming protocol, and the end itself. A thread that goes with its run
 * is kept for some seconds where a client of another process may still read the result. A repeat after a commit that
 * was not confirmed returns `accepted`. `coalesce` keeps the planner from the index of running runs, which holds all
 * that ended since the last vacuum.
 */
export const finishRuns: Statement = {
  name: "runs_finish_9",
  text: `with q as (
      select * from unnest((select $1::uuid[]), $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[],
        $16::bigint[], $17::text[], $18::float8[])
      with ordinality as q(run_id, attempt, status, error_json, thread_status, values_json, interrupts_json, last_seq,
        protocol_seq, trigrams, keep_seconds, ordinal)
    ), last as (
      select * from unnest((select $9::uuid[]), $10::bigint[], $11::text[], $12::text[], $13::text[], $14::text[],
        $15::bigint[]) as last(run_id, seq, family, name, namespace, data, number)
    ), done as (
      update runs r set status = q.status, error_json = q.error_json, ended_at = now(), updated_at = now(),
        lease_owner = null, lease_expires_at = null,
        cancel_action = case when q.status = 'interrupted' then r.cancel_action end
      from q where r.run_id = q.run_id and r.attempt = q.attempt and coalesce(r.status) = 'running'
      returning r.run_id, r.thread_id
    ), waiting as (
      select d.run_id, (
        select p.run_id from runs p
        where p.thread_id = d.thread_id and p.status = 'pending' and p.available_at <= now() limit 1
      ) is not null as more, (
        select p.run_id from runs p where p.thread_id = d.thread_id and p.status = 'pending' limit 1
      ) is not null as queued from done d
    ), marked as (
      update threads t set
        status = case when w.queued then 'busy' else q.thread_status end,
        values_json = coalesce(q.values_json, t.values_json),
        trigrams = case when q.values_json is null then t.trigrams else q.trigrams::bit(1024) end,
        interrupts_json = q.interrupts_json,
        error_json = q.error_json,
        last_seq = greatest(t.last_seq, q.last_seq),
        protocol_seq = greatest(t.protocol_seq, q.protocol_seq),
        expires_at = now() + make_interval(secs => coalesce(q.keep_seconds, t.ttl_minutes * 60)),
        ttl_strategy = case when q.keep_seconds is null then t.ttl_strategy else 'delete' end,
        updated_at = now(),
        state_updated_at = case when q.values_json is null then t.state_updated_at else now() end
      from q join done d on d.run_id = q.run_id join waiting w on w.run_id = q.run_id
      where t.thread_id = d.thread_id
    ), ended as (
      insert into thread_events (thread_id, seq, run_id, family, name, namespace, data, number)
      select d.thread_id, l.seq, l.run_id, l.family, l.name, l.namespace, l.data, l.number
      from last l join done d on d.run_id = l.run_id
    )
    select q.ordinal::int as ordinal, d.run_id is not null or coalesce(s.same, false) as accepted,
      coalesce(w.more, false) as more
    from q left join done d on d.run_id = q.run_id left join waiting w on w.run_id = q.run_id
    left join lateral (
      select r.attempt = q.attempt and r.status = q.status as same from runs r
      where d.run_id is null and r.run_id = q.run_id limit 1
    ) s on true
    order by q.ordinal`,
};

/** Without the run's input, which may be large: for clients that only follow the run. */
export const findRunHead: Statement = {
  name: "runs_head_1",
  text: `select run_id, thread_id, workspace_id, graph_id, status from runs
    where run_id = $1::uuid and workspace_id = $2::uuid limit 1`,
};

export const findRun: Statement = {
  name: "runs_find_1",
  text: `select ${runColumns} from runs where run_id = $1 and workspace_id = $2`,
};

export const runStatus: Statement = {
  name: "runs_status_1",
  text: "select status from runs where run_id = $1",
};
