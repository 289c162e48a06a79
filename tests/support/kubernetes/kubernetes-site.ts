import { join } from "node:path";
import { chooseRuntime } from "../../../src/app/choose-runtime.ts";
import { type DeploymentConfig, readConfig } from "../../../src/config/index.ts";
import type { Runtime } from "../../../src/control-plane/runtimes/runtime.ts";
import { createLogger } from "../../../src/platform/logger.ts";
import type { GitFiles } from "../components/git-repository.ts";
import { startGitServer } from "../components/git-server.ts";
import { createTempFolder } from "../components/temp-folder.ts";
import {
  type ControlPlaneServer,
  dropDeploymentDatabases,
  machineWalls,
  startControlPlane,
} from "../control-plane.ts";
import { createTestDatabase } from "../database.ts";
import { deploy, gitDeployment, type PlaneCalls } from "../deployments.ts";
import { quickInstall, quickProject } from "../quick-project.ts";
import { openNamespace } from "./cluster-client.ts";
import { agentImage } from "./images.ts";
import { giveClusterRights, writePlatformConfig } from "./platform-account.ts";
import { startTcpRelay } from "./tcp-relay.ts";

export type SiteOptions = {
  /** Where the platform finds the API server, if not where everybody does. */
  server?: (url: string) => string;
  settings?: Partial<DeploymentConfig>;
  /** Instead of building on this machine, which is quicker. */
  environment?: Record<string, string>;
  /** Each workspace has a namespace of its own, with the rights of the second manifest. */
  namespacePerWorkspace?: boolean;
};

type DeployOptions = {
  files?: GitFiles;
  resources?: Record<string, unknown>;
  secrets?: { name: string; value: string }[];
  /** Default: the first one of the platform. */
  workspaceId?: string;
};

/** A control plane whose deployments are pods of the cluster, with the rights of the manifest alone. */
export async function openKubernetesSite(options: SiteOptions = {}) {
  const host = process.env.TREADLE_TEST_CLUSTER_HOST!;
  const space = await openNamespace();
  const database = await createTestDatabase();
  const folder = await createTempFolder("kubernetes-site");
  const git = await startGitServer();
  let plane: ControlPlaneServer;
  let runtime: Runtime;
  const databaseRelay = await startTcpRelay(host, () => database.url);
  const platformRelay = await startTcpRelay(host, () => plane.url);
  const kubeconfig = join(folder.path, "kubeconfig.json");
  await writePlatformConfig(space, kubeconfig, options.server);
  const takeRights = options.namespacePerWorkspace ? await giveClusterRights(space) : async () => {};

  async function start(again: { apiKey?: string; workspaceId?: string; port?: number } = {}) {
    const databaseUrl = databaseRelay.urlFor(database.url);
    const config = readConfig({
      ...{ TREADLE_RUNTIME: "kubernetes", TREADLE_KUBERNETES_IMAGE: agentImage, KUBECONFIG: kubeconfig },
      ...{ TREADLE_KUBERNETES_PLATFORM_RANGES: `${host}/32`, TREADLE_BUILDS: "here" },
      ...(options.namespacePerWorkspace ? { TREADLE_KUBERNETES_NAMESPACE_PER: "workspace" } : {}),
      ...options.environment,
    });
    const reach = { databaseUrl, platformUrl: () => platformRelay.url };
    const logger = createLogger({ level: process.env.TREADLE_TEST_LOG ?? "silent" });
    const ground = { config, logger, reach, walls: machineWalls(), treadle: "", folder: folder.path };
    const chosen = await chooseRuntime(ground);
    runtime = chosen.runtime;
    plane = await startControlPlane({
      ...{ databaseUrl, folder: folder.path, keepDatabases: true, ...again },
      logLevel: process.env.TREADLE_TEST_LOG ?? "silent",
      settings: { bakeMs: 300, ...options.settings },
      ...chosen,
    });
  }
  await start();

  return {
    ...{ space, database, git, kubeconfig },
    plane: () => plane,
    runtime: () => runtime,
    /** Stops the platform and starts it again; pods go on meanwhile. */
    async restart() {
      const { apiKey, workspaceId, url } = plane;
      await plane.stop();
      await start({ apiKey, workspaceId, port: Number(new URL(url).port) });
    },
    /** A project whose packages are those of the image. */
    async deploy(name: string, answer: string, more: DeployOptions = {}) {
      const { files, resources, secrets = [], workspaceId = plane.workspaceId } = more;
      const inWorkspace: PlaneCalls = {
        call: (method, path, body) => plane.call(method, path, body, { "x-tenant-id": workspaceId }),
      };
      const repository = await git.createRepository(name, imageProject(answer, files));
      const source_config = {
        ...{ repo_url: repository.url, deployment_type: "dev", build_on_push: false },
        ...{ install_command: quickInstall, ...(resources ? { resource_spec: resources } : {}) },
      };
      const body = gitDeployment(name, repository.url, { source_config, secrets });
      // A pod takes a busy machine longer than a process does.
      const made = await deploy(inWorkspace, body, 600_000);
      return { ...made, repository };
    },
    /** Of a deployment: what the cluster has of it. */
    async pods(deploymentId: string) {
      const { items } = await space.api.list(`${space.path}/pods`, `treadle.dev/deployment=${deploymentId}`);
      return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    },
    async stop() {
      await plane.stop();
      await databaseRelay.stop();
      await platformRelay.stop();
      await git.stop();
      const made = await space.api.list("/api/v1/namespaces", `treadle.dev/platform-namespace=${space.name}`);
      for (const { metadata } of made.items) await space.api.remove(`/api/v1/namespaces/${metadata.name}`);
      await takeRights();
      await space.remove();
      await dropDeploymentDatabases(database.database);
      await database.drop();
      await folder.remove();
    },
  };
}

export type KubernetesSite = Awaited<ReturnType<typeof openKubernetesSite>>;

export function imageProject(answer: string, files: GitFiles = {}): GitFiles {
  return quickProject(answer, {
    "install.js":
      'import { symlinkSync } from "node:fs";\nsymlinkSync("/app/node_modules", "node_modules");\n',
    ...files,
  });
}
