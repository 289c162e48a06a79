import type { Database, Statement } from "../../db/database.ts";
import type { SharedCount } from "./failed-credentials.ts";

/** One statement for each refusal: counts it, and clears away a few counts of the past. Buckets come sorted, against deadlocks. */
export const countRefusalStatement: Statement = {
  // Without a name it is planned each time: it is rare, and the table is now empty, now as large as an attack.
  name: "",
  text: `with gone as (
      delete from failed_credentials where bucket in (
        select bucket from failed_credentials where ends_at < now() and bucket <> all($1::text[])
        order by ends_at limit 20 for update skip locked)
    )
    insert into failed_credentials as f (bucket, refusals, ends_at)
    select bucket, 1, now() + make_interval(secs => $2::float8 / 1000)
    from unnest($1::text[]) with ordinality as q(bucket, ordinal) order by ordinal
    on conflict (bucket) do update set
      refusals = case when f.ends_at <= now() then 1 else f.refusals + 1 end,
      ends_at = case when f.ends_at <= now() then excluded.ends_at else f.ends_at end
    returning bucket, refusals, extract(epoch from ends_at - now())::float8 * 1000 as "endsInMs"`,
};

/** Counts a refusal for all servers of the database and answers how many there were. */
export function sharedRefusals(database: Database) {
  return (buckets: readonly string[], windowMs: number): Promise<SharedCount[]> =>
    database.query<SharedCount>(countRefusalStatement, [[...buckets].sort(), windowMs]);
}
