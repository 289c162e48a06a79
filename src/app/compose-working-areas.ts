import { loadServerGraphs } from "../agent-server/graphs/javascript/server-graphs.ts";
import { createAuthService } from "../auth-service/auth-service.ts";
import { listModelProviders } from "../builtin-graphs/chat-models.ts";
import { createBulkExport } from "../bulk-export/bulk-export.ts";
import { providerKeys } from "../config/index.ts";
import type { FailedCredentials } from "../platform/http/access/failed-credentials.ts";
import type { Metrics } from "../platform/metrics.ts";
import { NetworkGuard } from "../platform/network/network-guard.ts";
import { createTraces } from "../traces/traces.ts";
import { readPriceFile } from "../traces/usage/price-file.ts";
import { includesBulkExport } from "../workspaces/identity/workspace.ts";
import { createWorkspaces } from "../workspaces/workspaces.ts";
import { bootstrapConfigOf } from "./bootstrap-config.ts";
import { composeAgentServer, composeBuiltinGraphs } from "./compose-agent-server.ts";
import { composeAlerts } from "./compose-alerts.ts";
import type { WorkingGround } from "./ground.ts";

export type WorkingPorts = {
  metrics: Metrics;
  failedCredentials?: FailedCredentials;
  /** Of the control plane, for requests: a process without routes has none. */
  beforeWorkspaceDelete?(workspaceId: string): Promise<void>;
};

/** The areas that worker processes need, each with its ports to the others. The rest is for requests and deployments. */
export async function composeWorkingAreas(ground: WorkingGround, ports: WorkingPorts) {
  const { config, database, secretBox, clock, logger, publicUrl } = ground;
  const { metrics, ...doors } = ports;
  const network = new NetworkGuard({ allowPrivateAddresses: config.allowPrivateAddresses });
  const workspaces = createWorkspaces({
    ...{ database, secretBox, clock, logger, publicUrl, ...doors },
    sessionLimits: config.signIn.sessions,
    oidc: config.signIn.oidc,
    audit: config.audit,
    modelProviders: listModelProviders(providerKeys()),
    edition: config.edition,
    bootstrapConfig: () => bootstrapConfigOf(config, publicUrl),
    onDeparture: (tx, departure) => authService.leave(tx, departure),
  });
  const authService = createAuthService({
    ...{ database, secretBox, clock, logger, publicUrl, config },
    guard: network,
  });
  const traces = createTraces({
    ...{ database, clock, logger, metrics, publicUrl },
    seal: secretBox,
    workspaceName: (workspaceId) => workspaces.directory.nameOf(workspaceId),
    modelPrices: await readPriceFile(config.modelPricesFile),
    clickHouse: ground.clickHouse?.clickHouse,
  });
  const builtin = composeBuiltinGraphs({ network, workspaces, authService });
  const served = await loadServerGraphs(builtin);
  const agentServer = composeAgentServer(ground, { network, workspaces, traces }, served);
  const bulkExport = createBulkExport({
    ...{ database, clock, logger, secretBox },
    source: traces.exportSource({
      databaseUrl: ground.databaseUrl,
      clickHouseUrl: config.clickHouse?.url,
      byEngine: config.exportByEngine,
    }),
    limits: config.exports,
    allowPrivateAddresses: config.allowPrivateAddresses,
    ambientCredentials: config.edition !== "cloud",
    needsPaidPlan: async (organizationId) =>
      !includesBulkExport(config.edition, await workspaces.plans.planOf(organizationId)),
  });
  const alerts = composeAlerts(ground, network, traces);
  return {
    areas: { workspaces, authService, traces, agentServer, bulkExport, alerts },
    ...{ network, builtin },
    graphLibrary: { javascript: served.kit.version },
  };
}
