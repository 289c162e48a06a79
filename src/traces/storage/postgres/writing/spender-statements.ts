import type { Statement } from "../../../../platform/db/database.ts";
import { timeTextSql } from "../../../runs/run.ts";
import { standsAt } from "./run-statements.ts";

const columns = "r.id, r.workspace_id, r.start_time, r.parent_run_id";
const isRun = (alias: string) =>
  `r.id = any (array[${alias}.id]) and r.start_time = any (array[${alias}.start_time]) and r.workspace_id = ${alias}.workspace_id`;

/**
 * These runs and all above them, as far as they are stored, held until the transaction ends: always in the order of
 * their ids, so that two writers of one trace wait for each other and never in a circle.
 */
export const lockSpenders: Statement = {
  name: "",
  text: `with recursive chain as (
      select ${columns}
      from (
        select w.id, w.workspace_id, ${standsAt("w")} as start_time
        from unnest($1::uuid[], $2::uuid[]) as w (id, workspace_id)
      ) w join trace_runs r on ${isRun("w")}
      union
      select ${columns}
      from (
        select p.id, p.workspace_id, ${standsAt("p")} as start_time
        from (select c.parent_run_id as id, c.workspace_id from chain c where c.parent_run_id is not null) p
      ) p join trace_runs r on ${isRun("p")}
    )
    select r.id, r.workspace_id, ${timeTextSql("r.start_time")} as start_time, r.parent_run_id, r.run_type,
      r.usage::text[] as usage, r.below::text[] as below
    from (select distinct id, workspace_id, start_time from chain) c join trace_runs r on ${isRun("c")}
    order by r.id, r.workspace_id for no key update of r`,
};

/** What waits for these runs; they must be held. */
export const takeShares: Statement = {
  name: "",
  text: `delete from trace_parked_usage p using unnest($1::uuid[], $2::uuid[]) as w (id, workspace_id)
    where p.run_id = any (array[w.id]) and p.workspace_id = w.workspace_id
    returning p.run_id as id, p.workspace_id, p.usage::text[] as usage`,
};

/** Which of these runs are stored although something waits for them; asked one by one, as the table may be large. */
export const findOvertaken: Statement = {
  name: "trace_spending_overtaken_1",
  text: `select w.id, w.workspace_id as "workspaceId"
    from (
      select w.id, w.workspace_id, ${standsAt("w")} as start_time
      from unnest((select $1::uuid[]), $2::uuid[]) as w (id, workspace_id)
      where (select p.run_id from trace_parked_usage p where p.run_id = w.id and p.workspace_id = w.workspace_id limit 1)
        is not null
    ) w cross join lateral (
      select r.id from trace_runs r
      where r.id = w.id and r.start_time = w.start_time and r.workspace_id = w.workspace_id limit 1
    ) r`,
};
