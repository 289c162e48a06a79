import { createChatShares } from "../chat-shares/chat-shares.ts";
import type { FailedCredentials } from "../platform/http/access/failed-credentials.ts";
import type { Authorize } from "../platform/http/pipeline/authorize.ts";
import type { Metrics } from "../platform/metrics.ts";
import { composeChat } from "./compose-chat.ts";
import { composeConsole } from "./compose-console.ts";
import { composeControlPlane } from "./compose-control-plane.ts";
import { composePlayground } from "./compose-playground.ts";
import { composeWorkingAreas } from "./compose-working-areas.ts";
import type { Ground } from "./ground.ts";

/** What areas need of the HTTP application that serves them. */
export type AreaDoor = { metrics: Metrics; failedCredentials: FailedCredentials; authorize: Authorize };

export type Areas = Awaited<ReturnType<typeof composeAreas>>;

/** Each area with its ports to the others. */
export async function composeAreas(ground: Ground, { metrics, failedCredentials, authorize }: AreaDoor) {
  const { config, database, secretBox, clock, logger, publicUrl } = ground;
  const { areas, network, builtin, graphLibrary } = await composeWorkingAreas(ground, {
    ...{ metrics, failedCredentials },
    beforeWorkspaceDelete: (workspaceId) => controlPlane.beforeWorkspaceDelete(workspaceId),
  });
  const { workspaces, traces } = areas;
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
    hasChosenKeys: workspaces.hasChosenKeys,
  });
  const console = composeConsole(
    { database, logger, folder: ground.consoleFolder },
    composePlayground(ground, { workspaces, traces }),
    traces,
  );
  const chat = composeChat(logger, builtin);
  const chatShares = createChatShares(database);
  return { ...areas, controlPlane, console, chat, chatShares, graphLibrary };
}
