import { chmod } from "node:fs/promises";
import { compiledAgent } from "./compiled-agent.ts";
import { type GitServer, startGitServer } from "./components/git-server.ts";
import { createTempFolder, type TempFolder } from "./components/temp-folder.ts";
import {
  type ControlPlaneServer,
  type ControlPlaneServerOptions,
  startControlPlane,
} from "./control-plane.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";

export type DeploymentSiteOptions = Omit<ControlPlaneServerOptions, "databaseUrl" | "folder"> & {
  git?: Parameters<typeof startGitServer>[0];
  /** Of the data folder; one that other users can pass is as an operator's outside of a private home. */
  folderMode?: number;
};

export type DeploymentSite = {
  plane: ControlPlaneServer;
  git: GitServer;
  folder: TempFolder;
  database: TestDatabase;
  /** The control plane first, then what it stood on. */
  stop(): Promise<void>;
};

/** A control plane with a database and a data folder of its own, beside a git server to deploy from. */
export async function startDeploymentSite(
  name: string,
  { git: gitOptions, folderMode, ...options }: DeploymentSiteOptions = {},
): Promise<DeploymentSite> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const part of stops.splice(0).reverse()) await part();
  };
  try {
    const folder = await createTempFolder(name);
    stops.push(() => folder.remove());
    if (folderMode !== undefined) await chmod(folder.path, folderMode);
    const database = await createTestDatabase();
    stops.push(() => database.drop());
    const git = await startGitServer(gitOptions);
    stops.push(() => git.stop());
    const plane = await startControlPlane({
      logLevel: process.env.TEST_LOG ?? "silent",
      ...options,
      settings: { compileCache: await compiledAgent(), ...options.settings },
      databaseUrl: database.url,
      folder: folder.path,
    });
    stops.push(() => plane.stop());
    return { plane, git, folder, database, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
