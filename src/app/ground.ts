import type { Config } from "../config/index.ts";
import type { ListenerPlace } from "../control-plane/mirror/listener-place.ts";
import type { BlobStore } from "../platform/blob/blob-store.ts";
import type { PreparedClickHouse } from "../platform/clickhouse/prepared-clickhouse.ts";
import type { Clock } from "../platform/clock.ts";
import { openDatabase } from "../platform/db/connection/open-database.ts";
import type { Database } from "../platform/db/database.ts";
import { DatabaseClock } from "../platform/db/database-clock.ts";
import { startEmbeddedPostgres } from "../platform/db/embedded/embedded-postgres.ts";
import { VacuumPace } from "../platform/db/embedded/vacuum-pace.ts";
import { migrate } from "../platform/db/schema/migrate.ts";
import type { SecretBox } from "../platform/encryption/secret-box.ts";
import type { LifeState } from "../platform/http/probe-routes.ts";
import type { Logger } from "../platform/logger.ts";
import { migrationsFolder } from "../platform/package-facts.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { RolePlan } from "./roles.ts";
import type { WorkerProcesses } from "./worker-processes.ts";

/** What the areas of every process are made of. */
export type WorkingGround = {
  config: Config;
  /** What this process serves and starts. */
  plan: RolePlan;
  database: Database;
  /** For separate connections, such as COPY. */
  databaseUrl: string;
  secretBox: SecretBox;
  /** Runs of traces, where the database does not keep them. */
  clickHouse?: PreparedClickHouse | undefined;
  clock: Clock;
  logger: Logger;
  publicUrl(): string;
};

/** What the platform's areas are made of, in a process that serves. */
export type Ground = WorkingGround & {
  /** How far the process has come. */
  state(): LifeState;
  /** Uploads, built deployments and old logs. */
  blobs: BlobStore;
  /** The address for processes of this machine, independent of the public one. */
  internalUrl(): string;
  /** The server it runs deployments for, if it is a listener. */
  listener?: ListenerPlace | undefined;
  /** Processes that take runs, jobs and exports off this one. */
  workerProcesses?: WorkerProcesses | undefined;
  /** Where the console was built, when not in its own folder. */
  consoleFolder?: string | undefined;
};

export type OpenDatabaseOptions = {
  /** Undefined: an embedded PostgreSQL in the data folder. */
  databaseUrl: string | undefined;
  dataDir: string;
  databasePool: number;
  applicationName?: string;
  logger: Logger;
  life: Lifecycle;
  /** Called when others are waited for, and this process has time. */
  onWaiting?: () => void;
};

export type OpenedDatabase = {
  database: Database;
  databaseUrl: string;
  /** Due times follow the database's clock, not this machine's. */
  clock: DatabaseClock;
  /** What people should know about the embedded one. */
  notes: string[];
};

/** Machines start their programs at once, and a database may be the last to be ready. */
const databaseWaitMs = 30_000;

/** The database, up to date and with its clock. */
export async function openGround(options: OpenDatabaseOptions): Promise<OpenedDatabase> {
  const { logger, life, databasePool: poolSize, applicationName } = options;
  const { url, notes } = await findPostgres(options);
  options.onWaiting?.();
  await migrate({ url, directory: migrationsFolder, logger, waitMs: databaseWaitMs });
  const database = openDatabase({ url, poolSize, logger, ...(applicationName ? { applicationName } : {}) });
  life.onClose(() => database.close());
  const clock = new DatabaseClock({ database, logger });
  await clock.start();
  life.onClose(async () => clock.stop());
  if (options.databaseUrl === undefined) {
    const pace = new VacuumPace({ database, logger });
    pace.start();
    life.onClose(async () => pace.stop());
  }
  return { database, databaseUrl: url, clock, notes };
}

async function findPostgres({ databaseUrl, dataDir, logger, life, onWaiting }: OpenDatabaseOptions) {
  if (databaseUrl !== undefined) return { url: databaseUrl, notes: [] };
  const postgres = await startEmbeddedPostgres({ dataDir, logger, onMaking: onWaiting });
  life.onClose(() => postgres.stop());
  return postgres;
}
