import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import type { Logger } from "../../logger.ts";
import type { PostgresBinaries } from "./postgres-binaries.ts";
import { preparePostgresPlace } from "./postgres-folder.ts";
import { initPostgres, superuser } from "./postgres-init.ts";
import { PostgresLog } from "./postgres-log.ts";
import { clearPostgresFolder } from "./postgres-orphan.ts";
import {
  type Postmaster,
  type PostmasterExit,
  type PostmasterOptions,
  startOnKeptPort,
  startPostmaster,
} from "./postmaster.ts";

export type EmbeddedPostgresOptions = {
  /** Treadle's data folder, whose lock the caller holds. */
  dataDir: string;
  logger: Logger;
  /** Called when its cluster is being made, by a process that takes a second or so: this one has time meanwhile. */
  onMaking?: (() => void) | undefined;
  /** Called when the server exited unexpectedly; it is being started again. */
  onExit?: (exit: PostmasterExit) => void;
  /** Server settings over our own, for example `fsync: "off"` where the data may be lost. */
  settings?: Record<string, string>;
  /** Where root keeps what its own folders hide from other users. */
  systemRoot?: string;
  /** The PostgreSQL build to run, instead of the installed package's. */
  binaries?: PostgresBinaries;
};

export type EmbeddedPostgres = {
  url: string;
  /** The cluster itself. */
  dataFolder: string;
  /** Sentences for the banner. */
  notes: string[];
  /** The server process at this moment. */
  pid(): number;
  stop(): Promise<void>;
};

const databaseName = "treadle";
const maxRestartDelayMs = 10_000;

/** Starts PostgreSQL from the installed package and keeps it running, on one port, until `stop`. */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const settings = options.settings ?? {};
  const place = await preparePostgresPlace(options.dataDir, options);
  const { password } = await initPostgres(place, {
    durable: settings.fsync !== "off",
    onMaking: options.onMaking,
  });
  await clearPostgresFolder(place.dataFolder, options.logger);
  const log = new PostgresLog(place.logFile);
  const run: PostmasterOptions = { place, log, settings };
  let postmaster: Postmaster;
  try {
    postmaster = await startOnKeptPort(run);
  } catch (error) {
    log.close();
    throw error;
  }
  const supervisor = new Supervisor(run, postmaster, options);
  const url = `postgres://${superuser}:${encodeURIComponent(password)}@127.0.0.1:${postmaster.port}/`;
  try {
    await createDatabaseOnce(url);
  } catch (error) {
    await supervisor.stop();
    throw error;
  }
  return {
    url: `${url}${databaseName}`,
    dataFolder: place.dataFolder,
    notes: place.notes,
    pid: () => supervisor.pid(),
    stop: () => supervisor.stop(),
  };
}

class Supervisor {
  readonly #run: PostmasterOptions;
  readonly #options: EmbeddedPostgresOptions;
  readonly #stopping = new AbortController();
  readonly #onProcessExit = () => this.#postmaster.signal("SIGINT");
  #postmaster: Postmaster;
  #watching: Promise<void>;
  #stopped: Promise<void> | undefined;

  constructor(run: PostmasterOptions, postmaster: Postmaster, options: EmbeddedPostgresOptions) {
    this.#run = run;
    this.#postmaster = postmaster;
    this.#options = options;
    // A process that exits without calling stop() must not leave its server behind.
    process.on("exit", this.#onProcessExit);
    this.#watching = this.#watch();
  }

  pid(): number {
    return this.#postmaster.pid;
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    await this.#postmaster.stop();
    // A restart may be in progress; it sees the signal and stops what it started.
    await this.#watching;
    process.off("exit", this.#onProcessExit);
    this.#run.log.close();
  }

  async #watch(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const exit = await this.#postmaster.exited;
      if (this.#stopping.signal.aborted) return;
      this.#options.logger.error(exit, "PostgreSQL ended by itself, starting it again");
      this.#options.onExit?.(exit);
      await this.#restart();
    }
  }

  /** On the same port, so that every pool finds the server again. */
  async #restart(): Promise<void> {
    const { place } = this.#run;
    for (let attempt = 0; !this.#stopping.signal.aborted; attempt++) {
      try {
        await clearPostgresFolder(place.dataFolder, this.#options.logger);
        this.#postmaster = await startPostmaster(this.#run, this.#postmaster.port);
        if (this.#stopping.signal.aborted) await this.#postmaster.stop();
        else this.#options.logger.info({ pid: this.#postmaster.pid }, "PostgreSQL runs again");
        return;
      } catch (error) {
        this.#options.logger.error({ err: error }, "PostgreSQL does not start, trying again");
        const pauseMs = Math.min(maxRestartDelayMs, 100 * 2 ** attempt);
        await delay(pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      }
    }
  }
}

async function createDatabaseOnce(serverUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${serverUrl}postgres` });
  await client.connect();
  try {
    const found = await client.query("select 1 from pg_database where datname = $1", [databaseName]);
    if (found.rowCount === 0) await client.query(`create database ${databaseName}`);
  } finally {
    await client.end();
  }
}
