/**
 * The gateway of one version of the code, with one deployment behind it, as a process of its own:
 * `node bench/gateway-subject.ts FOLDER` prints its address as JSON and serves until its input ends.
 */
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder = "."] = process.argv.slice(2);
const load = (path: string) => import(pathToFileURL(resolve(join(folder, path))).href);
const { migrate } = await load("src/platform/db/schema/migrate.ts");
const { createLogger } = await load("src/platform/logger.ts");
const { startGitServer } = await load("tests/support/components/git-server.ts");
const { createTempFolder } = await load("tests/support/components/temp-folder.ts");
const { startControlPlane } = await load("tests/support/control-plane.ts");
const { deploy, gitDeployment } = await load("tests/support/deployments.ts");
const { migrationsDirectory, startScratchServer } = await load("tests/support/postgres.ts");
const { quickInstall, quickProject } = await load("tests/support/quick-project.ts");

const postgres = await startScratchServer();
const logger = createLogger({ level: "warn" });
await migrate({ url: postgres.url, directory: migrationsDirectory, logger });
const git = await startGitServer();
const data = await createTempFolder("bench-gateway");
const plane = await startControlPlane({
  databaseUrl: postgres.url,
  folder: data.path,
  settings: { bakeMs: 0 },
});
try {
  const repository = await git.createRepository("quick", quickProject("quick"));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  const body = gitDeployment("quick", repository.url, { source_config });
  const { deployment, revision } = await deploy(plane, body);
  if (revision.status !== "DEPLOYED") throw new Error(revision.status_message);
  console.log(JSON.stringify({ url: deployment.url, apiKey: plane.apiKey, workspaceId: plane.workspaceId }));
  process.stdin.resume();
  await new Promise((end) => process.stdin.once("end", end));
} finally {
  await plane.stop();
  await git.stop();
  await data.remove();
  await postgres.stop();
}
