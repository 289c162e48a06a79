import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { announceDeployment, deploymentChannel } from "./revision-store.ts";
import { type SleepState, sleepStatesBefore } from "./sleep.ts";

/** One statement, with its notification. False when it is elsewhere meanwhile, is stopped or gone; then nothing was written. */
export async function moveSleep(
  sql: Sql,
  id: string,
  move: { to: SleepState; from?: readonly SleepState[] },
  now: Date,
): Promise<boolean> {
  const from = sleepStatesBefore(move.to).filter((state) => move.from?.includes(state) ?? true);
  const { rows } = await raw`
    with moved as (
      update deployments set sleep_state = ${move.to}, sleep_changed_at = ${now}, sleep_settled = false, wake_at = null
      where id = ${id} and sleep_state = any(${from}::text[]) and desired_state = 'running' and deleted_at is null
        and active_revision_id is not null
      returning id)
    select pg_notify(${deploymentChannel}, id::text) from moved`.execute(sql);
  return rows.length > 0;
}

/** Somebody wants it: many may ask, one of them moves it. */
export function wakeDeployment(sql: Sql, id: string, now: Date): Promise<boolean> {
  return moveSleep(sql, id, { to: "waking" }, now);
}

/** Its server is gone, and nothing is due before `wakeAt`. */
export async function settleSleep(tx: Sql, id: string, wakeAt: Date | null): Promise<void> {
  await raw`update deployments set sleep_settled = true, wake_at = ${wakeAt}
    where id = ${id} and sleep_state = 'asleep' and not sleep_settled`.execute(tx);
  await announceDeployment(tx, id);
}
