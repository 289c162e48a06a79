import type { Clock } from "../../../../platform/clock.ts";
import type { Database } from "../../../../platform/db/database.ts";
import type { Logger } from "../../../../platform/logger.ts";
import { type Month, monthOf, monthsToPrepare } from "./partition.ts";
import { createPartition, listPartitions } from "./partition-store.ts";

/** The monthly partitions of the table of runs. */
export class Partitions {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #known = new Set<string>();
  readonly #creating = new Map<string, Promise<void>>();

  constructor(options: { database: Database; clock: Clock; logger: Logger }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  /** Makes the partitions that runs of these times need. */
  async ensure(times: readonly string[]): Promise<void> {
    const now = this.#clock.now();
    let last = "";
    for (const time of times) {
      const prefix = time.slice(0, 7);
      if (prefix === last) continue;
      last = prefix;
      const month = monthOf(time, now);
      if (month && !this.#known.has(month.name)) await this.#make(month);
    }
  }

  /** Makes the months to come. */
  async prepare(): Promise<void> {
    for (const name of await listPartitions(this.#database.sql)) this.#known.add(name);
    for (const month of monthsToPrepare(this.#clock.now())) await this.#make(month);
  }

  /** After partitions were dropped: what was known to be there may be gone. */
  forget(): void {
    this.#known.clear();
  }

  async #make(month: Month): Promise<void> {
    if (this.#known.has(month.name)) return;
    let pending = this.#creating.get(month.name);
    if (!pending) {
      pending = this.#database
        .transaction((tx) => createPartition(tx, month))
        .then(() => {
          this.#known.add(month.name);
          this.#logger.debug({ partition: month.name }, "trace partition is ready");
        })
        .finally(() => this.#creating.delete(month.name));
      this.#creating.set(month.name, pending);
    }
    await pending;
  }
}
