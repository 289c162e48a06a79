import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";

/** Longer than one write may take. Whoever waits in vain is told of a conflict, and tries again. */
const patienceMs = 60_000;
/** Longer than ClickHouse may take for anything under the lock. A process that was stopped meanwhile must not hold it for ever. */
const longestSilenceMs = 120_000;

/**
 * ClickHouse has neither transactions nor locks, so one writer at a time works on the runs of a workspace, of all processes: it reads
 * them, merges and writes, and PostgreSQL sees to it that nobody does so meanwhile. Held until the transaction ends. Several are
 * taken in one order, or two writers could wait for each other.
 */
export async function holdWorkspaces(tx: Sql, workspaceIds: readonly string[]): Promise<void> {
  await limitTimes(tx);
  for (const id of [...new Set(workspaceIds)].sort())
    await raw`select pg_advisory_xact_lock(hashtextextended(${`trace_runs ${id}`}, 0))`.execute(tx);
}

/** The same for those that nobody else holds now; returns which. */
export async function holdFreeWorkspaces(tx: Sql, workspaceIds: readonly string[]): Promise<Set<string>> {
  await limitTimes(tx);
  const { rows } = await raw<{ id: string; is_held: boolean }>`select id,
    pg_try_advisory_xact_lock(hashtextextended('trace_runs ' || id, 0)) as is_held
    from unnest(${[...workspaceIds]}::text[]) as w (id)`.execute(tx);
  return new Set(rows.filter((row) => row.is_held).map((row) => row.id));
}

async function limitTimes(tx: Sql): Promise<void> {
  await raw`select set_config('lock_timeout', ${String(patienceMs)}, true),
    set_config('idle_in_transaction_session_timeout', ${String(longestSilenceMs)}, true)`.execute(tx);
}

/** Throws when the transaction has ended, and the locks with it: a process that was stopped for long does not know it. */
export async function confirmHeld(tx: Sql): Promise<void> {
  await raw`select 1`.execute(tx);
}
