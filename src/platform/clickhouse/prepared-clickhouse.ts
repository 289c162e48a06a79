import { withAdvisoryLock } from "../db/advisory-lock.ts";
import type { Database } from "../db/database.ts";
import type { Logger } from "../logger.ts";
import { ClickHouse } from "./clickhouse.ts";
import { migrateClickHouse } from "./migrate-clickhouse.ts";

export type PreparedClickHouseOptions = {
  url: string;
  cluster?: string | undefined;
  /** Where its migrations are. */
  directory: string;
  /** Holds the lock under which they are applied: ClickHouse has none. */
  database: Database;
  logger: Logger;
  /** Called once it is up to date, before any other statement; none is sent while this fails. */
  onReady?: () => Promise<void>;
};

/**
 * A ClickHouse that is brought up to date before its first statement. One that is away when a process starts is brought up to date by
 * the first statement after it is back.
 */
export class PreparedClickHouse {
  /** For everybody's statements. */
  readonly clickHouse: ClickHouse;
  readonly #bare: ClickHouse;
  readonly #ensure: Ensure;

  private constructor(clickHouse: ClickHouse, bare: ClickHouse, ensure: Ensure) {
    this.clickHouse = clickHouse;
    this.#bare = bare;
    this.#ensure = ensure;
  }

  static async open(options: PreparedClickHouseOptions): Promise<PreparedClickHouse> {
    const { url, cluster, directory, database, logger, onReady } = options;
    const bare = await ClickHouse.open({ url });
    const ensure = new Ensure(async () => {
      const migrated = await migrateClickHouse({
        ...{ clickHouse: bare, directory, logger, cluster },
        exclusively: (work) =>
          withAdvisoryLock(database.sql, `treadle.clickhouse_migrations ${bare.where}`, work),
      });
      await onReady?.();
      return migrated;
    });
    const clickHouse = await ClickHouse.open({ url, before: async () => void (await ensure.done()) });
    return new PreparedClickHouse(clickHouse, bare, ensure);
  }

  /** Brings it up to date; returns the migrations this was done with. Throws what is wrong with it. */
  async prepare(): Promise<readonly string[]> {
    return await this.#ensure.done();
  }

  /** Throws what is wrong with it now. */
  async check(signal: AbortSignal): Promise<void> {
    await this.#ensure.done();
    await this.#bare.rows("select 1", { signal });
  }

  async close(): Promise<void> {
    await Promise.all([this.clickHouse.close(), this.#bare.close()]);
  }
}

/** Once; what fails is tried again by whoever asks next. */
class Ensure {
  readonly #migrate: () => Promise<{ applied: string[] }>;
  #applied: readonly string[] | undefined;
  #doing: Promise<readonly string[]> | undefined;

  constructor(migrate: () => Promise<{ applied: string[] }>) {
    this.#migrate = migrate;
  }

  async done(): Promise<readonly string[]> {
    if (this.#applied) return this.#applied;
    this.#doing ??= this.#migrate()
      .then(({ applied }) => {
        this.#applied = applied;
        return applied;
      })
      .finally(() => {
        this.#doing = undefined;
      });
    return await this.#doing;
  }
}
