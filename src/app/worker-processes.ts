import type { StopOptions, Stopped, Worker } from "../platform/areas/area.ts";
import type { Database } from "../platform/db/database.ts";
import type { Logger } from "../platform/logger.ts";
import type { OtherFigures } from "../platform/metrics.ts";
import { within } from "../platform/within.ts";
import { fitConnections, type WorkerPlace } from "./worker-config.ts";
import { type OnWorkerLost, WorkerProcess, type WorkerSettings } from "./worker-process.ts";

export type WorkerProcessesOptions = {
  count: number;
  /** Nobody named the number: it is lowered to what the database has connections for. */
  isOwnChoice: boolean;
  /** Database connections that each process may hold. */
  poolSize: number;
  settings: WorkerSettings;
  logger: Logger;
};

/** A start does not wait longer for them; runs wait in the queue. */
const patienceMs = 60_000;

/** The worker processes of one server, which take runs, jobs and exports off it. */
export class WorkerProcesses implements Worker {
  readonly name = "app.worker_processes";
  readonly #options: WorkerProcessesOptions;
  #processes: readonly WorkerProcess[] = [];
  #stopped: Promise<Stopped> | undefined;

  constructor(options: WorkerProcessesOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#processes.length;
  }

  get ready(): number {
    return this.#processes.filter(({ isReady }) => isReady).length;
  }

  get restarts(): number {
    return this.#processes.reduce((sum, { restarts }) => sum + restarts, 0);
  }

  /** The code of what `/ready` should tell; null while all are there. */
  get problem(): string | null {
    return this.ready < this.count ? "workers.away" : null;
  }

  /** Starts them; they load their code while the server gets ready. Answers with notes for people. */
  async launch(database: Pick<Database, "query">): Promise<string[]> {
    const { count, notes } = await this.#fit(database);
    const { settings, logger } = this.#options;
    this.#processes = Array.from(
      { length: count },
      (_, index) => new WorkerProcess(index + 1, settings, logger),
    );
    for (const process of this.#processes) process.launch();
    return notes;
  }

  /** They take work from now on. */
  begin(place: Omit<WorkerPlace, "number" | "count">, onLost: OnWorkerLost): void {
    const { count } = this;
    for (const process of this.#processes) process.begin({ ...place, number: process.number, count }, onLost);
  }

  /** Waits until each is ready or has failed once. */
  async start(): Promise<void> {
    await within(patienceMs, Promise.all(this.#processes.map(({ firstTry }) => firstTry)));
  }

  stop(options: StopOptions): Promise<Stopped> {
    this.#stopped ??= this.#stop(options);
    return this.#stopped;
  }

  /** Of those that answer in time. */
  async readMetrics(): Promise<OtherFigures[]> {
    const answers = await Promise.all(
      this.#processes.map(async (process) => ({
        labels: { worker: String(process.number) },
        figures: await process.readMetrics(),
      })),
    );
    return answers.flatMap(({ labels, figures }) => (figures ? [{ labels, figures }] : []));
  }

  async #stop(options: StopOptions): Promise<Stopped> {
    const stopped = await Promise.all(this.#processes.map((process) => process.stop(options)));
    return { interrupted: stopped.flatMap(({ interrupted }) => interrupted) };
  }

  async #fit(database: Pick<Database, "query">): Promise<{ count: number; notes: string[] }> {
    const { count, isOwnChoice, poolSize, logger } = this.#options;
    const [row] = await database.query<{ most: number }>(maxConnections, []);
    const most = row?.most ?? 0;
    const { fitting, needed } = fitConnections({ most, poolSize, count });
    if (count <= fitting) return { count, notes: [] };
    const facts = `The database takes ${most} connections, and ${count + 1} processes hold up to ${needed}.`;
    if (isOwnChoice) {
      logger.warn({ wanted: count, started: fitting }, `Fewer worker processes are started. ${facts}`);
      return { count: fitting, notes: [] };
    }
    const note = `${facts} Raise its max_connections, or lower TREADLE_WORKERS or TREADLE_DATABASE_POOL.`;
    logger.warn({ workers: count }, note);
    return { count, notes: [note] };
  }
}

const maxConnections = {
  name: "max_connections_v1",
  text: "select current_setting('max_connections')::int as most",
};
