import { errorMessage } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Database, Statement } from "../database.ts";

export type VacuumPaceOptions = {
  database: Pick<Database, "query" | "background">;
  logger: Logger;
  lookEveryMs?: number;
};

const lookEveryMs = 60_000;
/** What idle deployments write for themselves stays far below. */
const busyRowsALook = 5_000;
/** A pause in the work is not its end. */
const quietLooks = 5;

const busySeconds = 60;
const idleSeconds = 600;

export const paceStatement: Statement = {
  name: "vacuum_pace_1",
  text: `select sum(tup_inserted + tup_updated + tup_deleted)::float8 as written,
      (select setting::int from pg_settings where name = 'autovacuum_naptime') as seconds
    from pg_stat_database`,
};

/**
 * How often the embedded server's autovacuum visits its databases. A visit costs some ten milliseconds in each of them,
 * also where nothing was written: with fifty idle deployments that is most of what the database does. So visits are rare
 * while little is written, and as frequent as PostgreSQL's default within a minute once more is.
 */
export class VacuumPace {
  readonly #options: VacuumPaceOptions;
  #timer: NodeJS.Timeout | undefined;
  #written: number | undefined;
  #quiet = 0;

  constructor(options: VacuumPaceOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#look(), this.#options.lookEveryMs ?? lookEveryMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const { database, logger } = this.#options;
    try {
      const [row] = await database.background<{ written: number; seconds: number }>(paceStatement, []);
      const { written, seconds } = row!;
      const wanted = this.#judge(written);
      if (wanted !== undefined && wanted !== seconds) await this.#set(wanted);
    } catch (error) {
      logger.debug({ reason: errorMessage(error) }, "the pace of autovacuum could not be looked at");
    }
  }

  /** Undefined: it stays as it is. */
  #judge(written: number): number | undefined {
    // What is gone with a deleted database makes the sum smaller.
    const more = Math.abs(written - (this.#written ?? written));
    this.#written = written;
    this.#quiet = more < busyRowsALook ? this.#quiet + 1 : 0;
    if (this.#quiet === 0) return busySeconds;
    return this.#quiet >= quietLooks ? idleSeconds : undefined;
  }

  async #set(seconds: number): Promise<void> {
    const { database } = this.#options;
    // A setting takes no parameter.
    await database.query({ name: "", text: `alter system set autovacuum_naptime = ${seconds}` }, []);
    await database.query({ name: "", text: "select pg_reload_conf()" }, []);
  }
}
