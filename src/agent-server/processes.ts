import type { Database, Statement, Unlisten } from "../platform/db/database.ts";
import { raw } from "../platform/db/raw.ts";
import { errorMessage } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";

const channel = "treadle_processes";
/** Rarely: a process announces its start at once, and taking a dead one for alive costs a few announcements. */
const beatMs = 15_000;
const deadAfterSeconds = 50;

export const presenceStatement: Statement = {
  name: "server_process_beat_v1",
  text: `with gone as (
      delete from server_processes where seen_at < now() - make_interval(secs => $2)
    ), own as (
      insert into server_processes (process_id) values ($1)
      on conflict (process_id) do update set seen_at = now()
    )
    select count(*)::int as alive from server_processes
    where process_id <> $1 and seen_at >= now() - make_interval(secs => $2)`,
};

/** Knows how many server processes share the database, so that a lone one need not announce anything. */
export class ServerProcesses {
  readonly #options: {
    database: Database;
    logger: Logger;
    processId: string;
    onChange(count: number): void;
  };
  #timer: NodeJS.Timeout | undefined;
  #unlisten: Unlisten | undefined;

  constructor(options: {
    database: Database;
    logger: Logger;
    processId: string;
    onChange(count: number): void;
  }) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { database } = this.#options;
    this.#unlisten = await database.listen(
      channel,
      () => this.#refresh(),
      () => this.#refresh(),
    );
    await this.#beat();
    // The others begin to announce at once instead of at their next beat.
    await database.notify(channel, this.#options.processId);
    this.#timer = setInterval(() => this.#refresh(), beatMs);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#unlisten?.();
    await raw`delete from server_processes where process_id = ${this.#options.processId}`.execute(
      this.#options.database.sql,
    );
  }

  #refresh(): void {
    this.#beat().catch((error: unknown) => {
      this.#options.logger.warn(
        { reason: errorMessage(error) },
        "could not renew the presence of this process",
      );
    });
  }

  async #beat(): Promise<void> {
    const { database, processId } = this.#options;
    const rows = await database.background<{ alive: number }>(presenceStatement, [
      processId,
      deadAfterSeconds,
    ]);
    this.#options.onChange((rows[0]?.alive ?? 0) + 1);
  }
}
