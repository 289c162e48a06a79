import { gatewayRoute } from "../control-plane/gateway/gateway-listener.ts";
import type { Isolation } from "../control-plane/sandbox/isolation.ts";
import type { Area } from "../platform/areas/area.ts";
import { sharedRefusals } from "../platform/http/access/failed-credential-store.ts";
import { FailedCredentials } from "../platform/http/access/failed-credentials.ts";
import type { OnRequest, OnUpgrade } from "../platform/http/server/server.ts";
import { Metrics } from "../platform/metrics.ts";
import type { Workspaces } from "../workspaces/workspaces.ts";
import { type Areas, composeAreas } from "./compose-areas.ts";
import { composeHttp, type PlatformHttp } from "./compose-http.ts";
import { type WorkOfProcess, workOf } from "./compose-worker.ts";
import type { Ground } from "./ground.ts";
import { misdirected, refuseRequests, refuseUpgrades } from "./role-doors.ts";
import type { RolePlan } from "./roles.ts";
import type { WorkerProcesses } from "./worker-processes.ts";

export type Platform = PlatformHttp &
  WorkOfProcess & {
    /** In the order of their start: each may stand on those before it. */
    areas: Area[];
    metrics: Metrics;
    onUpgrade: OnUpgrade;
    onRequest: OnRequest;
    workspaces: Pick<Workspaces, "identity" | "makeSignInLink">;
    isolation(): Promise<Isolation>;
    /** A process that leased runs under this id is gone, and gave none of them back. */
    processLost(processId: string): void;
  };

/** The composition root: the only place where areas meet. Builds everything, starts nothing. */
export async function composePlatform(ground: Ground): Promise<Platform> {
  const { config, database, plan } = ground;
  const metrics = new Metrics();
  metrics.poolGauges(() => database.poolStats());
  if (ground.workerProcesses) includeWorkers(metrics, ground.workerProcesses);
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
    ...{ areas, metrics },
    ...workOf(ground, areas),
    ...composeDoors(plan, { controlPlane, agentServer, http }),
    workspaces,
    isolation: controlPlane.isolation,
    processLost: agentServer.processLost,
  };
}

/** What is taken on the wire: the gateway's, and sockets of the agent server. */
function composeDoors(
  plan: RolePlan,
  {
    controlPlane,
    agentServer,
    http,
  }: Pick<Areas, "controlPlane" | "agentServer"> & Pick<PlatformHttp, "http">,
): Pick<Platform, "onUpgrade" | "onRequest"> {
  const forPlatform = plan.serves("platform")
    ? agentServer.onUpgrade(http.authorize)
    : refuseUpgrades(() => misdirected(plan, "platform"));
  if (plan.serves("gateway"))
    return { onUpgrade: controlPlane.onUpgrade(forPlatform), onRequest: controlPlane.onRequest(http.raw) };
  const error = () => misdirected(plan, "gateway");
  const refused = refuseUpgrades(error);
  const isMeant = controlPlane.isForDeployment;
  return {
    onUpgrade: (request, ...rest) => (isMeant(request) ? refused : forPlatform)(request, ...rest),
    onRequest: refuseRequests(isMeant, http.raw(gatewayRoute), gatewayRoute, error),
  };
}

function includeWorkers(metrics: Metrics, workers: WorkerProcesses): void {
  metrics.gauge("worker_processes", "Worker processes that are ready.", () => workers.ready);
  metrics.gauge(
    "worker_process_restarts",
    "Worker processes that ended and were started again, since the start.",
    () => workers.restarts,
  );
  metrics.include(() => workers.readMetrics());
}
