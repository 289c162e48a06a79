import { join } from "node:path";
import type { Config } from "../config/index.ts";
import { describeClickHouse } from "../platform/clickhouse/clickhouse-errors.ts";
import { PreparedClickHouse } from "../platform/clickhouse/prepared-clickhouse.ts";
import type { Database } from "../platform/db/database.ts";
import { AppError } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import { migrationsFolder } from "../platform/package-facts.ts";
import { EngineNote } from "../traces/engine-note.ts";
import type { Lifecycle } from "./lifecycle.ts";

export type OpenedClickHouse = { clickHouse: PreparedClickHouse | undefined; notes: string[] };

const startWaitMs = 20_000;

export const clickHouseMigrations = join(migrationsFolder, "clickhouse");

/**
 * The ClickHouse the settings name, if any, up to date. A wrong setting, or one that is not that of the other processes, ends the start;
 * a server that is only away does not: what needs it answers 503 until it is there.
 */
export async function openClickHouse(
  given: Config["clickHouse"],
  options: {
    database: Database;
    logger: Logger;
    life: Lifecycle;
    /** Whether this process reads or writes runs. The others need no connection. */
    isNeeded: boolean;
    /** How long the start waits for it: everything else can be served without. */
    waitMs?: number;
  },
): Promise<OpenedClickHouse> {
  const { database, logger, life } = options;
  const note = new EngineNote(database, given && describeClickHouse(given.url));
  if (given === undefined) {
    if (options.isNeeded) await note.claim(logger);
    return { clickHouse: undefined, notes: [] };
  }
  if (options.isNeeded) await note.check();
  const clickHouse = await PreparedClickHouse.open({
    ...{ ...given, database, logger },
    directory: clickHouseMigrations,
    // Not before it has answered: an address may be wrong.
    onReady: () => note.claim(logger),
  });
  life.onClose(() => clickHouse.close());
  if (!options.isNeeded) return { clickHouse, notes: [] };
  try {
    await inTime(clickHouse.prepare(), options.waitMs ?? startWaitMs);
    return { clickHouse, notes: [] };
  } catch (error) {
    if (!(error instanceof AppError) || !error.retryable) throw settingsError(error);
    const note = `Traces have to wait: ${error.message}`;
    logger.warn({ code: error.code }, note);
    return { clickHouse, notes: [note] };
  }
}

/** What is not done by then goes on, and whoever needs it waits for it. */
async function inTime(work: Promise<unknown>, waitMs: number): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(
    () =>
      late.reject(
        new AppError({
          code: "database.unavailable",
          kind: "unavailable",
          message: `ClickHouse did not answer within ${waitMs / 1000} seconds. Check the setting TREADLE_TRACES_URL, the network and the server; Treadle tries again by itself.`,
        }),
      ),
    waitMs,
  );
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

/** Which setting it is about. */
function settingsError(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== "database.refused") return error;
  return new AppError({
    code: "database.refused",
    kind: "unavailable",
    retryable: false,
    message: `${error.message} It is the setting TREADLE_TRACES_URL.`,
    cause: error,
  });
}
