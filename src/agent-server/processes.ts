import type { Database, Statement, Unlisten } from "../platform/db/database.ts";
import { raw } from "../platform/db/raw.ts";
import { errorMessage } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import { within } from "../platform/within.ts";
import { grownListsCode } from "./checkpoints/grown-lists.ts";

const channel = "treadle_processes";
/** Rarely: a process announces its start at once, and taking a dead one for alive costs a few announcements. */
const beatMs = 30_000;
/** Of a process that is alone: whoever comes announces itself, and hears of this one if it had taken it for dead. */
const loneBeatMs = 60_000;
const deadAfterSeconds = 100;
const lastBeatMs = 150;
/** The newest migration of which servers tell one another whether they know it. */
const ownCode = grownListsCode;

export const presenceStatement: Statement = {
  name: "server_process_beat_v4",
  text: `with gone as (
      delete from server_processes
      where process_id <> $1 and seen_at < now() - make_interval(secs => $2)
    ), own as (
      insert into server_processes (process_id, takes_runs, code) values ($1, $3, $4)
      on conflict (process_id) do update set seen_at = now(), takes_runs = $3
    )
    select count(*) filter (where process_id <> $1)::int as alive,
      array_agg(process_id::text) filter (where takes_runs and process_id <> $1) as takers,
      coalesce(bool_or(process_id = $1), false) as known,
      min(coalesce(code, 0)) filter (where process_id <> $1) as oldest
    from server_processes
    where seen_at >= now() - make_interval(secs => $2)`,
};

type Beat = {
  /** Others, by what was so before this statement. */
  alive: number;
  takers: string[] | null;
  /** Whether the others counted this process among the living until now. */
  known: boolean;
  /** What the others know, where there are any. */
  oldest: number | null;
};

export type ServerProcessesOptions = {
  database: Database;
  logger: Logger;
  processId: string;
  onChange(count: number): void;
};

/** Knows which server processes share the database: a lone one need not announce anything, several deal runs. */
export class ServerProcesses {
  readonly #options: ServerProcessesOptions;
  #takesRuns = false;
  #takers: readonly string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isAlone = false;
  #oldestCode = 0;
  #hasStopped = false;
  /** Those that are under way. */
  #beats: Promise<unknown> = Promise.resolve();
  #unlisten: Unlisten | undefined;

  constructor(options: ServerProcessesOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { database } = this.#options;
    this.#unlisten = await database.listen(
      channel,
      () => this.#refresh(),
      () => this.#refresh(),
    );
    await this.#announce();
    this.#beatLater();
  }

  /** The ids of those that take runs, in the same order for all. */
  get takers(): readonly string[] {
    return this.#takers;
  }

  /** What all of them know, and 0 before this one has asked. */
  get oldestCode(): number {
    return this.#oldestCode;
  }

  /** Whether this process takes runs from now on. */
  async takeRuns(takesRuns: boolean): Promise<void> {
    this.#takesRuns = takesRuns;
    await this.#announce();
  }

  /** It is gone, and the others learn of it at once: nobody deals runs to it any more. */
  async lost(processId: string): Promise<void> {
    await this.#remove(processId);
    await this.#tell();
  }

  async stop(): Promise<void> {
    this.#hasStopped = true;
    clearTimeout(this.#timer);
    await this.#unlisten?.();
    // One that is under way would bring this process back. A database that does not answer is not waited for.
    await within(lastBeatMs, this.#beats);
    await this.lost(this.#options.processId);
  }

  async #remove(processId: string): Promise<void> {
    await raw`delete from server_processes where process_id = ${processId}`.execute(
      this.#options.database.sql,
    );
  }

  /** The others learn of it at once instead of at their next beat. */
  async #announce(): Promise<void> {
    await this.#beat();
    await this.#tell();
  }

  async #tell(): Promise<void> {
    await this.#options.database.notify(channel, this.#options.processId);
  }

  #refresh(): void {
    if (this.#hasStopped) return;
    this.#renew()
      .catch((error: unknown) => {
        this.#options.logger.warn(
          { reason: errorMessage(error) },
          "could not renew the presence of this process",
        );
      })
      .finally(() => this.#beatLater());
  }

  #beatLater(): void {
    clearTimeout(this.#timer);
    if (this.#hasStopped) return;
    this.#timer = setTimeout(() => this.#refresh(), this.#isAlone ? loneBeatMs : beatMs).unref();
  }

  /**
   * After a long outage, or a long stop of this process, the others take it for dead: the first that is back removes
   * the rest. They would announce nothing to it until their own next beat, and it may have readers.
   */
  async #renew(): Promise<void> {
    const { known } = await this.#beat();
    if (!known) await this.#tell();
  }

  #beat(): Promise<Beat> {
    const beat = this.#ask();
    this.#beats = Promise.allSettled([this.#beats, beat]);
    return beat;
  }

  async #ask(): Promise<Beat> {
    const { database, processId } = this.#options;
    const rows = await database.background<Beat>(presenceStatement, [
      processId,
      deadAfterSeconds,
      this.#takesRuns,
      ownCode,
    ]);
    const beat = rows[0]!;
    const { alive, takers, oldest } = beat;
    this.#oldestCode = Math.min(oldest ?? ownCode, ownCode);
    const own = this.#takesRuns ? [processId] : [];
    this.#takers = [...(takers ?? []), ...own].sort();
    this.#isAlone = alive === 0;
    this.#options.onChange(alive + 1);
    return beat;
  }
}
