import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { everyDue, type RecurringJob } from "../../platform/jobs/job-schedule.ts";
import type { Logger } from "../../platform/logger.ts";
import type { AgentRoute } from "../auth/agent-route.ts";
import type { StoreTtl } from "./item.ts";
import { ItemEmbedder, type StoreIndex } from "./item-embedder.ts";
import { itemRoutes } from "./item-routes.ts";
import { itemSearchRoutes } from "./item-search-routes.ts";
import { ItemService } from "./item-service.ts";
import { hasExpiredItems } from "./item-store.ts";
import { detectVectorMath } from "./vector-support.ts";

export type StoreOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  /** Without it `query` looks for words. */
  index?: StoreIndex;
  ttl?: StoreTtl;
};

export type Store = {
  routes: AgentRoute[];
  items: ItemService;
  recurringJobs: RecurringJob[];
  /** Finds out what the database offers for vectors; before the first search. */
  start(): Promise<void>;
};

const defaultSweepMinutes = 5;

/** The long-term store: documents of a workspace that outlive threads. */
export function createStore(options: StoreOptions): Store {
  const { database, clock, logger, index, ttl = {} } = options;
  const embedder = index ? new ItemEmbedder(index) : undefined;
  const items = new ItemService({ database, clock, ttl, embedder });
  const sweepJob = everyDue({
    kind: "store.sweep_expired",
    database,
    clock,
    logger,
    isDue: () => hasExpiredItems(database, clock.now()),
    everyMs: (ttl.sweepIntervalMinutes ?? defaultSweepMinutes) * 60_000,
    handler: async ({ signal }) => {
      await items.sweep(signal);
    },
  });
  return {
    routes: [...itemRoutes(items), ...itemSearchRoutes(items)],
    items,
    recurringJobs: [sweepJob],
    async start() {
      if (embedder) items.setVectorMath(await detectVectorMath(database, logger));
    },
  };
}
