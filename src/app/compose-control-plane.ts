import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkProject } from "../agent-server/graphs/check-project.ts";
import { type Config, childEnvironments, isLoopbackHost } from "../config/index.ts";
import { pythonMounts } from "../control-plane/builds/python/built-environment.ts";
import { machinePythons } from "../control-plane/builds/python/python-builder.ts";
import { type ControlPlane, createControlPlane } from "../control-plane/control-plane.ts";
import type { ControlPlaneOptions } from "../control-plane/control-plane-options.ts";
import type { Reach } from "../control-plane/runtimes/docker-environment.ts";
import { DockerRuntime } from "../control-plane/runtimes/docker-runtime.ts";
import { ProcessRuntime } from "../control-plane/runtimes/process-runtime.ts";
import type { Runtime } from "../control-plane/runtimes/runtime.ts";
import { Walls } from "../control-plane/sandbox/walls.ts";
import type { TracingPort } from "../control-plane/tracing/deployment-tracing.ts";
import { AppError } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import { dnsTxtRecords } from "../platform/network/dns-records.ts";
import type { ProjectService } from "../traces/projects/project-service.ts";
import type { PlatformKeys } from "../workspaces/api-keys/platform-key-service.ts";

/** The command that also started this process; `agent` serves one project. */
const treadle = fileURLToPath(new URL("../../bin/treadle.js", import.meta.url));
const packageRoot = dirname(dirname(treadle));

export type ControlPlaneGround = Pick<
  ControlPlaneOptions,
  | "database"
  | "databaseUrl"
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
> & {
  config: Config;
  /** Where servers on this machine reach the platform. */
  internalUrl(): string;
  keys: PlatformKeys;
  projects(): ProjectService;
};

/** The control plane with the runtime and the limits the settings ask for. */
export function composeControlPlane(options: ControlPlaneGround): ControlPlane {
  const { config, internalUrl, keys, projects, ...ground } = options;
  const { build, server } = childEnvironments();
  const folder = deploymentFolderOf(config);
  const walls = new Walls({
    setting: config.deployments.isolation,
    mustPass: [process.execPath, treadle, folder],
    path: build.PATH,
  });
  return createControlPlane({
    ...ground,
    txtRecords: dnsTxtRecords(config.deployments.dnsServers),
    credentialsRequired: config.agentAuthRequired,
    deploymentsUrl: () => deploymentsUrlOf(config, internalUrl()),
    checkProject,
    ownsDatabaseServer: config.databaseUrl === undefined,
    tracing: config.tracing ? tracingPort({ internalUrl, keys, projects }) : undefined,
    walls,
    runtime: chooseRuntime(config, walls, ground.logger, {
      databaseUrl: ground.databaseUrl,
      platformUrl: internalUrl,
    }),
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
          // Somebody else was faster.
          if (!(error instanceof AppError && error.kind === "not_found")) throw error;
        });
    },
  };
}

function chooseRuntime(config: Config, walls: Walls, logger: Logger, reach: Reach): Runtime {
  const { deployments } = config;
  const projectMounts = pythonMountsOf(config);
  if (deployments.runtime === "docker") {
    const { dockerSocket: socketPath, dockerImage: baseImage } = deployments;
    const { dockerSubnets: subnets, dockerAllowRoot: allowRoot } = deployments;
    const command = ["treadle"];
    const engine = { socketPath, baseImage, command, subnets, allowRoot };
    return new DockerRuntime({ ...engine, reach, logger, projectMounts });
  }
  // Half of what Node takes by default: many servers share one machine.
  const command = [process.execPath, "--max-semi-space-size=16", treadle] as const;
  const { compileCache } = deployments;
  return new ProcessRuntime({ command, packageRoot, walls, logger, compileCache, projectMounts });
}

/** A Python outside of the machine's own folders has to be brought to the servers of projects built with it. */
function pythonMountsOf(config: Config) {
  const folder = deploymentFolderOf(config);
  const { build: environment } = childEnvironments();
  const pythons = machinePythons({ folder, environment, named: config.deployments.pythons });
  return (built: string, configPath: string) => pythonMounts(pythons, built, configPath);
}

const deploymentFolderOf = ({ dataDir }: Config) => join(dataDir, "deployments");
