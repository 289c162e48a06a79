import type { Isolation } from "../control-plane/sandbox/isolation.ts";
import type { Area, Worker } from "../platform/areas/area.ts";
import { sharedRefusals } from "../platform/http/access/failed-credential-store.ts";
import { FailedCredentials } from "../platform/http/access/failed-credentials.ts";
import { deleteExpiredKeys } from "../platform/http/idempotency/idempotency-store.ts";
import type { OnRequest, OnUpgrade } from "../platform/http/server/server.ts";
import { every, type RecurringJob } from "../platform/jobs/job-schedule.ts";
import { Metrics } from "../platform/metrics.ts";
import type { Workspaces } from "../workspaces/workspaces.ts";
import { composeAreas } from "./compose-areas.ts";
import { composeHttp, type PlatformHttp } from "./compose-http.ts";
import { composeJobs } from "./compose-jobs.ts";
import type { Ground } from "./ground.ts";

export type Platform = PlatformHttp & {
  /** In the order of their start: each may stand on those before it. */
  areas: Area[];
  /** Of all areas, with the job worker they share. A process may start some of them. */
  workers: Worker[];
  onUpgrade: OnUpgrade;
  onRequest: OnRequest;
  workspaces: Pick<Workspaces, "identity" | "makeSignInLink">;
  isolation(): Promise<Isolation>;
};

/** The composition root: the only place where areas meet. Builds everything, starts nothing. */
export async function composePlatform(ground: Ground): Promise<Platform> {
  const { config, database } = ground;
  const metrics = new Metrics();
  metrics.poolGauges(() => database.poolStats());
  const failedCredentials = new FailedCredentials({
    perMinute: config.failedCredentialsPerMinute,
    trustedProxies: config.trustedProxies,
    share: sharedRefusals(database),
  });
  const composed = await composeAreas(ground, {
    ...{ metrics, failedCredentials },
    authorize: (...request) => served.http.authorize(...request),
  });
  const {
    workspaces,
    authService,
    traces,
    agentServer,
    bulkExport,
    controlPlane,
    console,
    chat,
    chatShares,
    alerts,
  } = composed;
  const areas: Area[] = [
    workspaces,
    authService,
    traces,
    agentServer,
    bulkExport,
    controlPlane,
    console,
    chat,
    chatShares,
    alerts,
  ];
  const served = composeHttp(ground, composed, { inOrder: areas, metrics, failedCredentials });
  const { http } = served;
  return {
    ...served,
    areas,
    workers: [...areas.flatMap((area) => area.workers), composeJobs(ground, areas, [sweepKeys(ground)])],
    onUpgrade: controlPlane.onUpgrade(agentServer.onUpgrade(http.authorize)),
    onRequest: controlPlane.onRequest(http.raw),
    workspaces,
    isolation: controlPlane.isolation,
  };
}

function sweepKeys({ database, clock }: Ground): RecurringJob {
  return every({
    ...{ database, clock },
    kind: "http.sweep_idempotency_keys",
    everyMs: 3_600_000,
    handler: async () => {
      await deleteExpiredKeys(database.sql, clock.now());
    },
  });
}
