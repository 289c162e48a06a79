import { loadServerGraphs } from "../agent-server/graphs/javascript/server-graphs.ts";
import { createAuthService } from "../auth-service/auth-service.ts";
import { listModelProviders } from "../builtin-graphs/chat-models.ts";
import { createBulkExport } from "../bulk-export/bulk-export.ts";
import { createChatShares } from "../chat-shares/chat-shares.ts";
import { providerKeys } from "../config/index.ts";
import type { FailedCredentials } from "../platform/http/access/failed-credentials.ts";
import type { Authorize } from "../platform/http/pipeline/authorize.ts";
import type { Metrics } from "../platform/metrics.ts";
import { NetworkGuard } from "../platform/network/network-guard.ts";
import { createTraces } from "../traces/traces.ts";
import { readPriceFile } from "../traces/usage/price-file.ts";
import { includesBulkExport } from "../workspaces/identity/workspace.ts";
import { createWorkspaces } from "../workspaces/workspaces.ts";
import { bootstrapConfigOf } from "./bootstrap-config.ts";
import { composeAgentServer, composeBuiltinGraphs } from "./compose-agent-server.ts";
import { composeAlerts } from "./compose-alerts.ts";
import { composeChat } from "./compose-chat.ts";
import { composeConsole } from "./compose-console.ts";
import { composeControlPlane } from "./compose-control-plane.ts";
import { composePlayground } from "./compose-playground.ts";
import type { Ground } from "./ground.ts";

/** What areas need of the HTTP application that serves them. */
export type AreaDoor = { metrics: Metrics; failedCredentials: FailedCredentials; authorize: Authorize };

export type Areas = Awaited<ReturnType<typeof composeAreas>>;

/** Each area with its ports to the others. */
export async function composeAreas(ground: Ground, { metrics, failedCredentials, authorize }: AreaDoor) {
  const { config, database, secretBox, clock, logger, publicUrl } = ground;
  const network = new NetworkGuard({ allowPrivateAddresses: config.allowPrivateAddresses });
  const workspaces = createWorkspaces({
    ...{ database, secretBox, clock, logger, publicUrl, failedCredentials },
    sessionLimits: config.signIn.sessions,
    oidc: config.signIn.oidc,
    audit: config.audit,
    modelProviders: listModelProviders(providerKeys()),
    edition: config.edition,
    bootstrapConfig: () => bootstrapConfigOf(config, publicUrl),
    beforeWorkspaceDelete: (workspaceId) => controlPlane.beforeWorkspaceDelete(workspaceId),
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
  });
  const builtin = composeBuiltinGraphs({ network, workspaces, authService });
  const served = await loadServerGraphs(builtin);
  const agentServer = composeAgentServer(ground, { network, workspaces, traces }, served);
  const bulkExport = createBulkExport({
    ...{ database, clock, logger, secretBox },
    databaseUrl: ground.databaseUrl,
    source: traces.exportSource,
    limits: config.exports,
    allowPrivateAddresses: config.allowPrivateAddresses,
    ambientCredentials: config.edition !== "cloud",
    needsPaidPlan: async (organizationId) =>
      !includesBulkExport(config.edition, await workspaces.plans.planOf(organizationId)),
  });
  const controlPlane = await composeControlPlane({
    ...{ config, database, secretBox, clock, logger, network, publicUrl },
    databaseUrl: ground.databaseUrl,
    blobs: ground.blobs,
    internalUrl: ground.internalUrl,
    listener: ground.listener && {
      ...ground.listener,
      place: () => workspaces.identity().organizationId,
    },
    workspaceExists: (workspaceId) => workspaces.directory.has(workspaceId),
    recognise: (headers) => workspaces.authenticator.authenticate(headers),
    keys: workspaces.platformKeys,
    tokens: workspaces.deploymentTokens,
    passes: workspaces.pagePasses,
    audit: workspaces.audit,
    projects: () => traces.projects,
    authorize,
    isPlatformCredential: workspaces.isCredential,
  });
  const console = composeConsole(
    { database, logger, folder: ground.consoleFolder },
    composePlayground(ground, { workspaces, traces }),
    traces,
  );
  const chat = composeChat(logger, builtin);
  const chatShares = createChatShares(database);
  const alerts = composeAlerts(ground, network, traces);
  return {
    ...{ workspaces, authService, traces, agentServer, bulkExport, controlPlane, console, chat, chatShares },
    alerts,
    graphLibrary: { javascript: served.kit.version },
  };
}
