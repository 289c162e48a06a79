import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import { type Month, monthOf, monthsToPrepare } from "./partition.ts";
import { createPartition, listPartitions } from "./partition-store.ts";

export type Partitions = {
  /** Makes the partitions that runs of these times need. */
  ensure(times: readonly string[]): Promise<void>;
  /** Makes the months to come. */
  prepare(): Promise<void>;
  /** After partitions were dropped: what was known to be there may be gone. */
  forget(): void;
};

export function createPartitions(options: { database: Database; clock: Clock; logger: Logger }): Partitions {
  const { database, clock, logger } = options;
  const known = new Set<string>();
  const creating = new Map<string, Promise<void>>();

  async function make(month: Month): Promise<void> {
    if (known.has(month.name)) return;
    let pending = creating.get(month.name);
    if (!pending) {
      pending = database
        .transaction((tx) => createPartition(tx, month))
        .then(() => {
          known.add(month.name);
          logger.info({ partition: month.name }, "trace partition is ready");
        })
        .finally(() => creating.delete(month.name));
      creating.set(month.name, pending);
    }
    await pending;
  }

  return {
    async ensure(times) {
      const now = clock.now();
      let last = "";
      for (const time of times) {
        const prefix = time.slice(0, 7);
        if (prefix === last) continue;
        last = prefix;
        const month = monthOf(time, now);
        if (month && !known.has(month.name)) await make(month);
      }
    },
    async prepare() {
      for (const name of await listPartitions(database.sql)) known.add(name);
      for (const month of monthsToPrepare(clock.now())) await make(month);
    },
    forget: () => known.clear(),
  };
}
