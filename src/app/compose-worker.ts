import type { Area, Worker } from "../platform/areas/area.ts";
import { deleteExpiredKeys } from "../platform/http/idempotency/idempotency-store.ts";
import { every, type RecurringJob } from "../platform/jobs/job-schedule.ts";
import { Metrics } from "../platform/metrics.ts";
import { composeJobs } from "./compose-jobs.ts";
import { composeWorkingAreas } from "./compose-working-areas.ts";
import type { WorkingGround } from "./ground.ts";

/** What a process does on its own. */
export type WorkOfProcess = {
  /** Those of this process's roles, of all areas, with the job worker they share. */
  workers: Worker[];
  /** Kinds of jobs that this process takes from the queue they share. */
  jobKinds: readonly string[];
};

/** A worker process: the areas whose work it takes, and nothing that answers requests. Builds everything, starts nothing. */
export async function composeWorker(
  ground: WorkingGround,
): Promise<WorkOfProcess & { areas: Area[]; metrics: Metrics; processId: string }> {
  const { database } = ground;
  const metrics = new Metrics();
  metrics.poolGauges(() => database.poolStats());
  const { areas } = await composeWorkingAreas(ground, { metrics });
  const { workspaces, authService, traces, agentServer, bulkExport, alerts } = areas;
  const inOrder = [workspaces, authService, traces, agentServer, bulkExport, alerts];
  return { areas: inOrder, metrics, processId: agentServer.processId, ...workOf(ground, inOrder) };
}

/** What the plan of this process leaves to it of the areas' work. */
export function workOf(ground: WorkingGround, areas: readonly Area[]): WorkOfProcess {
  const { plan } = ground;
  const jobs = composeJobs(ground, areas, [sweepKeys(ground)], (kind) => plan.takesJobs(kind));
  const workers = areas.flatMap((area) => area.workers).filter(({ name }) => plan.startsWorker(name));
  return { workers: jobs.kinds.length > 0 ? [...workers, jobs] : workers, jobKinds: jobs.kinds };
}

function sweepKeys({ database, clock }: WorkingGround): RecurringJob {
  return every({
    ...{ database, clock },
    kind: "http.sweep_idempotency_keys",
    everyMs: 3_600_000,
    handler: async () => {
      await deleteExpiredKeys(database.sql, clock.now());
    },
  });
}
