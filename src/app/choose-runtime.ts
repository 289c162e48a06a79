import { dirname } from "node:path";
import { type Config, childEnvironments, usesCluster } from "../config/index.ts";
import type { BuildPods } from "../control-plane/builds/pods/build-pods.ts";
import { pythonMounts } from "../control-plane/builds/python/built-environment.ts";
import { machinePythons } from "../control-plane/builds/python/python-builder.ts";
import { DockerRuntime } from "../control-plane/runtimes/docker/docker-runtime.ts";
import type { Reach } from "../control-plane/runtimes/docker/environment.ts";
import { noAccess, readKubernetesAccess } from "../control-plane/runtimes/kubernetes/access.ts";
import { KubernetesApi } from "../control-plane/runtimes/kubernetes/api.ts";
import { KubernetesBuildPods } from "../control-plane/runtimes/kubernetes/build-pods.ts";
import { KubernetesRuntime } from "../control-plane/runtimes/kubernetes/kubernetes-runtime.ts";
import { ProcessRuntime } from "../control-plane/runtimes/process-runtime.ts";
import type { Runtime } from "../control-plane/runtimes/runtime.ts";
import type { Walls } from "../control-plane/sandbox/walls.ts";
import type { Logger } from "../platform/logger.ts";

type RuntimeGround = {
  config: Config;
  walls: Walls;
  logger: Logger;
  reach: Reach;
  /** The command that serves a project. */
  treadle: string;
  /** Of all deployments. */
  folder: string;
};

/** Where deployed servers run, as TREADLE_RUNTIME says, and where they are built, if not in this process. */
export async function chooseRuntime(
  ground: RuntimeGround,
): Promise<{ runtime: Runtime; buildPods: BuildPods | undefined }> {
  const { runtime } = ground.config.deployments;
  if (runtime === "kubernetes") return await kubernetesRuntime(ground);
  const own = runtime === "docker" ? dockerRuntime(ground) : processRuntime(ground);
  return { runtime: own, buildPods: undefined };
}

async function kubernetesRuntime({ config, walls, reach, logger, folder }: RuntimeGround) {
  const { kubernetes, stopMs, healthMs, buildsAreJobs, buildMaxBytes } = config.deployments;
  const { kubeconfig, service, installation, platformRanges, otherNamespaces } = kubernetes;
  const { namespacePer, workspaceQuota: quota } = kubernetes;
  const access = usesCluster(config) ? await readKubernetesAccess({ kubeconfig, service }) : noAccess;
  const cluster = {
    ...{ ...reach, installation, platformRanges, namespacePer, quota, logger },
    api: new KubernetesApi(access),
    namespace: kubernetes.namespace ?? access.namespace,
  };
  // Checked at the start, with the other settings that pods need.
  const image = kubernetes.image!;
  const { buildMemoryBytes: memoryBytes, buildCpus: cpus } = kubernetes;
  const machine = childEnvironments();
  const runtime = new KubernetesRuntime({
    ...{ ...cluster, otherNamespaces, folder, baseImage: image, walls: buildsAreJobs ? null : walls },
    graceSeconds: Math.ceil(stopMs / 1000),
    startSeconds: Math.ceil(healthMs / 1000),
    machine: machine.server,
  });
  const buildPods =
    buildsAreJobs && usesCluster(config)
      ? new KubernetesBuildPods({
          ...cluster,
          ...{ image, memoryBytes, cpus, maxBytes: buildMaxBytes, machine: machine.build },
        })
      : undefined;
  return { runtime, buildPods };
}

function dockerRuntime({ config, reach, logger, folder }: RuntimeGround): Runtime {
  const { deployments } = config;
  const { dockerSocket: socketPath, dockerImage: baseImage, agentHost: host } = deployments;
  const { dockerSubnets: subnets, dockerAllowRoot: allowRoot } = deployments;
  const engine = { socketPath, baseImage, command: ["treadle"], subnets, allowRoot, host };
  const { server: machine } = childEnvironments();
  const projectMounts = pythonMountsOf(config, folder);
  return new DockerRuntime({ ...engine, reach, logger, machine, projectMounts });
}

function processRuntime({ config, walls, logger, treadle, folder }: RuntimeGround): Runtime {
  const { compileCache, agentHost: host } = config.deployments;
  // Half of what Node takes by default: many servers share one machine.
  const command = [process.execPath, "--max-semi-space-size=16", treadle] as const;
  const packageRoot = dirname(dirname(treadle));
  const projectMounts = pythonMountsOf(config, folder);
  return new ProcessRuntime({ command, packageRoot, walls, logger, host, compileCache, projectMounts });
}

/** A Python outside of the machine's own folders has to be brought to the servers of projects built with it. */
function pythonMountsOf({ deployments }: Config, folder: string) {
  const { build: environment } = childEnvironments();
  const pythons = machinePythons({ folder, environment, named: deployments.pythons });
  return (built: string, configPath: string) => pythonMounts(pythons, built, configPath);
}
