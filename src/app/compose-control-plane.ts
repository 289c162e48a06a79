import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readAwaitedWork } from "../agent-server/awaited-work.ts";
import { checkProject } from "../agent-server/graphs/check-project.ts";
import { buildsBesideCluster, type Config, childEnvironments, isLoopbackHost } from "../config/index.ts";
import { type ControlPlane, createControlPlane } from "../control-plane/control-plane.ts";
import type { ControlPlaneOptions } from "../control-plane/control-plane-options.ts";
import { certificatePaths } from "../control-plane/sandbox/machine-mounts.ts";
import { Walls } from "../control-plane/sandbox/walls.ts";
import type { TracingPort } from "../control-plane/tracing/deployment-tracing.ts";
import { AppError } from "../platform/errors.ts";
import { dnsTxtRecords } from "../platform/network/dns-records.ts";
import type { ProjectService } from "../traces/projects/project-service.ts";
import type { PlatformKeys } from "../workspaces/api-keys/platform-key-service.ts";
import { chooseRuntime } from "./choose-runtime.ts";

/** The command that also started this process; `agent` serves one project. */
const treadle = fileURLToPath(new URL("../../bin/treadle.js", import.meta.url));

export type ControlPlaneGround = Pick<
  ControlPlaneOptions,
  | "database"
  | "databaseUrl"
  | "blobs"
  | "secretBox"
  | "clock"
  | "logger"
  | "network"
  | "publicUrl"
  | "authorize"
  | "consolePath"
  | "tokens"
  | "passes"
  | "audit"
  | "isPlatformCredential"
  | "hasChosenKeys"
  | "listener"
  | "recognise"
  | "workspaceExists"
> & {
  config: Config;
  /** Where servers on this machine reach the platform. */
  internalUrl(): string;
  keys: PlatformKeys;
  projects(): ProjectService;
};

/** The control plane with the runtime and the limits the settings ask for. */
export async function composeControlPlane(options: ControlPlaneGround): Promise<ControlPlane> {
  const { config, internalUrl, keys, projects, ...ground } = options;
  const { build, server } = childEnvironments();
  const folder = join(config.dataDir, "deployments");
  const walls = new Walls({
    setting: config.deployments.isolation,
    mustPass: [process.execPath, treadle, folder],
    path: build.PATH,
    besideCluster: buildsBesideCluster(config),
    certificates: certificatePaths(build),
  });
  return createControlPlane({
    ...ground,
    txtRecords: dnsTxtRecords(config.deployments.dnsServers),
    credentialsRequired: config.agentAuthRequired,
    deploymentsUrl: () => deploymentsUrlOf(config, internalUrl()),
    checkProject,
    awaitedWork: readAwaitedWork,
    ownsDatabaseServer: config.databaseUrl === undefined,
    sharesBlobs: config.blobs.isShared,
    // A listener is one process, whatever it leaves to its platform.
    sharesBuilds: config.roles !== "all" && !ground.listener,
    tracing: config.tracing ? tracingPort({ internalUrl, keys, projects }) : undefined,
    walls,
    ...(await chooseRuntime({
      ...{ config, walls, treadle, folder, logger: ground.logger },
      reach: { databaseUrl: ground.databaseUrl, platformUrl: internalUrl },
    })),
    settings: {
      ...config.deployments,
      edition: config.edition,
    },
    folder,
    buildEnvironment: build,
    serverEnvironment: server,
  });
}

/** On one machine every deployment has a name below localhost, which browsers resolve by themselves. */
function deploymentsUrlOf({ deployments, host, publicUrl }: Config, internalUrl: string): string | null {
  if (deployments.url !== undefined) return deployments.url;
  const isLocal = isLoopbackHost(host) && isLoopbackHost(new URL(publicUrl ?? internalUrl).hostname);
  return isLocal ? `http://{slug}.localhost:${new URL(internalUrl).port}` : null;
}

export function tracingPort(
  ground: Pick<ControlPlaneGround, "internalUrl" | "keys" | "projects">,
): TracingPort {
  return {
    endpoint: () => `${ground.internalUrl()}/api/v1`,
    issueKey: (workspaceId, { name, project, expiresAt }) =>
      ground.keys.issue(workspaceId, {
        name,
        scopes: ["traces:write"],
        tracingProject: project,
        expiresAt,
      }),
    isKeyUsable: (keyId, workspaceId) => ground.keys.isUsable(keyId, workspaceId),
    endKeys: (inUse, before) => ground.keys.revokeUnusedTracing(inUse, before),
    watchKeys: (onChange) => ground.keys.watch(onChange),
    ensureProject: (workspaceId, name) => ground.projects().projectIdOf(workspaceId, name),
    async removeProject(workspaceId, name) {
      const filter = { name, limit: 1, offset: 0 };
      const [project] = await ground.projects().list(workspaceId, filter);
      if (!project) return;
      await ground
        .projects()
        .remove(workspaceId, project.id)
        .catch((error: unknown) => {
          // Another process was faster.
          if (!(error instanceof AppError && error.kind === "not_found")) throw error;
        });
    },
  };
}
