import type { Area, Worker } from "../platform/areas/area.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { pruneJob, type RecurringJob } from "../platform/jobs/job-schedule.ts";
import { type JobHandler, JobWorker } from "../platform/jobs/job-worker.ts";
import type { Logger } from "../platform/logger.ts";

/** With the kinds of jobs it takes. */
export type JobsOfProcess = Worker & { kinds: readonly string[] };
export type JobsGround = { database: Database; clock: Clock; logger: Logger };

/** One job worker for what areas leave to the queue, with the platform's own recurring jobs; `takes` leaves some to other processes. */
export function composeJobs(
  { database, clock, logger }: JobsGround,
  areas: readonly Pick<Area, "jobHandlers" | "recurringJobs">[],
  own: readonly RecurringJob[] = [],
  takes: (kind: string) => boolean = () => true,
): JobsOfProcess {
  const recurring = [
    pruneJob({ database, clock }),
    ...own,
    ...areas.flatMap(({ recurringJobs }) => recurringJobs),
  ].filter(({ kind }) => takes(kind));
  const handlers: Record<string, JobHandler> = {};
  const entries = [
    ...areas.flatMap(({ jobHandlers }) => Object.entries(jobHandlers)).filter(([kind]) => takes(kind)),
    ...recurring.map(({ kind, handler }) => [kind, handler] as const),
  ];
  for (const [kind, handler] of entries) {
    if (kind in handlers) throw new Error(`Two areas have a handler for jobs of kind ${kind}.`);
    handlers[kind] = handler;
  }
  const jobs = new JobWorker({ database, clock, logger, handlers });
  return {
    name: "platform.jobs",
    kinds: Object.keys(handlers),
    async start() {
      for (const job of recurring) await job.start();
      await jobs.start();
    },
    stop: (options) => {
      for (const job of recurring) job.stop?.();
      return jobs.stop(options);
    },
  };
}
