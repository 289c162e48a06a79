import type { Sql } from "./database.ts";
import { raw } from "./raw.ts";

/**
 * One at a time for each key, in all processes. The work has a connection of its own, which holds the lock: with a
 * connection that breaks the lock is gone, too.
 */
export function withAdvisoryLock<T>(
  sql: Sql,
  key: string,
  work: (connection: Sql) => Promise<T>,
): Promise<T> {
  return sql.connection().execute(async (connection) => {
    await raw`select pg_advisory_lock(hashtextextended(${key}, 0))`.execute(connection);
    return await thenUnlock(connection, key, work);
  });
}

/** The same for work that only one should do: undefined at once where another does it. */
export function withFreeAdvisoryLock<T>(
  sql: Sql,
  key: string,
  work: (connection: Sql) => Promise<T>,
): Promise<T | undefined> {
  return sql.connection().execute(async (connection) => {
    const { rows } = await raw<{ taken: boolean }>`
      select pg_try_advisory_lock(hashtextextended(${key}, 0)) as taken`.execute(connection);
    return rows[0]?.taken ? await thenUnlock(connection, key, work) : undefined;
  });
}

async function thenUnlock<T>(
  connection: Sql,
  key: string,
  work: (connection: Sql) => Promise<T>,
): Promise<T> {
  const unlock = () => raw`select pg_advisory_unlock(hashtextextended(${key}, 0))`.execute(connection);
  let outcome: T;
  try {
    outcome = await work(connection);
  } catch (error) {
    await unlock().catch(() => undefined);
    throw error;
  }
  await unlock();
  return outcome;
}
