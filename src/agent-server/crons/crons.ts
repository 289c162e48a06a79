import type { Worker } from "../../platform/areas/area.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import type { AgentRoute } from "../auth/agent-route.ts";
import { cronChangeRoutes } from "./cron-change-routes.ts";
import { cronRoutes } from "./cron-routes.ts";
import { CronService, type ResolveAssistant } from "./cron-service.ts";
import { CronWorker, type MayAct, type StartRun } from "./cron-worker.ts";

export type CronsOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  /** Starts a run; with `if_not_exists: "create"` also its thread, under the given id. */
  startRun: StartRun;
  resolveAssistant: ResolveAssistant;
  /** Asked at each firing about the user who made the cron. If that user may not act, the run has no user. */
  mayAct?: MayAct | undefined;
  /** Refuses a webhook that could never be delivered. */
  checkWebhook?(url: string): Promise<void>;
  firingLeaseMs?: number;
};

export type Crons = {
  routes: AgentRoute[];
  worker: Worker;
  /** Starts everything that is due now, without waiting for the timer. */
  fireDue(): Promise<void>;
};

/** Runs on a schedule. */
export function createCrons(options: CronsOptions): Crons {
  const { database, clock, logger, startRun, resolveAssistant, mayAct, checkWebhook } = options;
  const service = new CronService({
    ...{ database, clock, logger, resolveAssistant, checkWebhook },
    firingLeaseMs: options.firingLeaseMs,
  });
  const worker = new CronWorker({ database, clock, logger, service, startRun, mayAct });
  return {
    routes: [...cronRoutes(service, clock), ...cronChangeRoutes(service)],
    worker: {
      name: "agent-server.crons",
      start: () => worker.start(),
      stop: (stop) => worker.stop(stop),
    },
    fireDue: () => worker.fireDue(),
  };
}
