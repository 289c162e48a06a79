import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkProject } from "./agent-server/graphs/check-project.ts";
import { type Config, childEnvironments } from "./config.ts";
import {
  type ControlPlane,
  type ControlPlaneOptions,
  createControlPlane,
} from "./control-plane/control-plane.ts";
import { createDockerRuntime } from "./control-plane/runtimes/docker-runtime.ts";
import { createProcessRuntime } from "./control-plane/runtimes/process-runtime.ts";
import type { Runtime } from "./control-plane/runtimes/runtime.ts";
import type { Logger } from "./platform/logger.ts";

/** The command that also started this process; `agent` serves one project. */
const treadle = fileURLToPath(new URL("../bin/treadle.js", import.meta.url));

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
  | "tracing"
  | "consolePath"
> & { config: Config };

/** The control plane with the runtime and the limits the settings ask for: a part of `app.ts`, which grew too long. */
export function composeControlPlane({ config, ...ground }: ControlPlaneGround): ControlPlane {
  const { build, server } = childEnvironments();
  return createControlPlane({
    ...ground,
    checkProject,
    runtime: chooseRuntime(config, ground.logger),
    settings: {
      ...config.deployments,
      edition: config.edition,
      allowRedirects: config.allowPrivateAddresses,
    },
    folder: join(config.dataDir, "deployments"),
    buildEnvironment: build,
    serverEnvironment: server,
  });
}

function chooseRuntime({ deployments }: Config, logger: Logger): Runtime {
  if (deployments.runtime === "docker") {
    const { dockerSocket: socketPath, dockerImage: baseImage } = deployments;
    return createDockerRuntime({ socketPath, baseImage, command: ["treadle"], logger });
  }
  // Half of what Node takes by default: many servers share one machine.
  return createProcessRuntime({ command: [process.execPath, "--max-semi-space-size=16", treadle], logger });
}
