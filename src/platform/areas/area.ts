import type { Route } from "../http/route.ts";
import type { RecurringJob } from "../jobs/job-schedule.ts";
import type { JobHandler } from "../jobs/job-worker.ts";

export type StopOptions = { graceMs: number };
/** What did not come to its end within the grace, in words for people. */
export type Stopped = { interrupted: string[] };

/**
 * Takes work on its own: from a queue, by the clock or under a lease. A process may run some workers and not others.
 */
export type Worker = {
  /** `area.work`, as in `agent-server.runs`. */
  name: string;
  /** It gives others the address of this server, so it starts once the server listens. */
  needsAddress?: boolean;
  start(): Promise<void>;
  /** Takes nothing more, lets active work finish within the grace and hands back the rest. */
  stop(options: StopOptions): Promise<Stopped>;
};

/** The one shape of an area, by which `src/app` composes, starts and stops them all in a loop. */
export type Area = {
  routes: Route[];
  /** Served, but part of no document. */
  hiddenRoutes?: Route[];
  /** By kind, for the job worker of the process. */
  jobHandlers: Record<string, JobHandler>;
  recurringJobs: RecurringJob[];
  workers: Worker[];
  /** What its routes and workers stand on, in every process; no worker. */
  start(): Promise<void>;
  /** Once its workers have stopped and no request is left. */
  stop(options?: StopOptions): Promise<void>;
};

/** The area with all its workers, for a process that has no other. */
export async function startArea(area: Area): Promise<void> {
  await area.start();
  for (const worker of area.workers) await worker.start();
}

export async function stopArea(area: Area, { graceMs }: StopOptions): Promise<Stopped> {
  const stopped = await Promise.all(area.workers.map((worker) => worker.stop({ graceMs })));
  await area.stop({ graceMs });
  return { interrupted: stopped.flatMap(({ interrupted }) => interrupted) };
}
