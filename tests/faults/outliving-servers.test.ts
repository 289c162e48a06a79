import { afterAll, beforeAll, expect, it } from "vitest";
import { ProcessRuntime } from "../../src/control-plane/runtimes/process-runtime.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { compiledAgent } from "../support/compiled-agent.ts";
import { freePort } from "../support/components/free-port.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { isRunning } from "../support/components/process-table.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import {
  type ControlPlaneServer,
  dropDeploymentDatabases,
  machineWalls,
  packageRoot,
  startControlPlane,
  treadleCommand,
} from "../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import type { DeploymentBody, RevisionBody } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

/** Servers that are processes of this machine, but not the platform's, as those of a cluster are. */
class OutlivingRuntime extends ProcessRuntime {
  override readonly outlivesPlatform: boolean = true;
}

let git: GitServer;
let folder: TempFolder;
let database: TestDatabase;
let port: number;
let compileCache: string;
let plane: ControlPlaneServer;
const identity = {
  apiKey: "a-key-for-servers-that-stay",
  workspaceId: "5e1f0000-0000-4000-8000-000000000003",
};

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await createTempFolder("outliving");
  git = await startGitServer();
  port = await freePort();
  compileCache = await compiledAgent();
});
afterAll(async () => {
  await plane?.stop();
  await git?.stop();
  if (database) await dropDeploymentDatabases(database.database);
  await database?.drop();
  await folder?.remove();
});

function start({ outlives }: { outlives: boolean }): Promise<ControlPlaneServer> {
  const walls = machineWalls();
  const logger = createLogger({ level: "silent" });
  const options = { command: treadleCommand, packageRoot, walls, logger, compileCache };
  return startControlPlane({
    ...{ databaseUrl: database.url, folder: folder.path, port, ...identity, keepDatabases: true },
    runtime: outlives ? new OutlivingRuntime(options) : new ProcessRuntime(options),
  });
}

async function pids(): Promise<number[]> {
  const text = "select (handle->>'pid')::int as pid from deployment_instances where state <> 'exited'";
  const rows = await database.database.query<{ pid: number }>({ name: "", text }, []);
  return rows.map(({ pid }) => pid);
}

it("a platform that stops only lets go of servers that outlive it, and the next one finds them", {
  timeout: 120_000,
}, async () => {
  const repository = await git.createRepository("outliving", quickProject("still here"));
  plane = await start({ outlives: true });
  const { body: deployment } = await plane.call<DeploymentBody>("POST", "/v2/deployments", {
    ...{ name: "outliving", source: "github", secrets: [] },
    source_config: { repo_url: repository.url, install_command: quickInstall },
    source_revision_config: { repo_ref: "main", graph_config_path: "langgraph.json" },
  });
  const path = `/v2/deployments/${deployment.id}/revisions/${deployment.latest_revision_id}`;
  await waitUntil(
    async () => (await plane.call<RevisionBody>("GET", path)).body.status === "DEPLOYED" || undefined,
    { what: "the deployment", timeoutMs: 60_000 },
  );
  const [pid, ...others] = await pids();
  expect(others).toEqual([]);

  await plane.stop();
  expect(isRunning(pid!)).toBe(true);
  expect(await pids()).toEqual([pid]);

  plane = await start({ outlives: true });
  const answer = await fetch(`${plane.url}/d/${deployment.slug}/version`);
  expect(await answer.json()).toMatchObject({ answer: "still here" });
  expect(await pids()).toEqual([pid]);

  // One whose servers are its own ends them with itself.
  await plane.stop();
  plane = await start({ outlives: false });
  await plane.stop();
  expect(isRunning(pid!)).toBe(false);
  expect(await pids()).toEqual([]);
  plane = await start({ outlives: false });
});
