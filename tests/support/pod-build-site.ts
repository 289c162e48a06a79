import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create } from "tar";
import { checkProject } from "../../src/agent-server/graphs/check-project.ts";
import { ArtifactShelf } from "../../src/control-plane/builds/artifact-shelf.ts";
import type { BuildRequest, BuildSource } from "../../src/control-plane/builds/build-request.ts";
import { PodBuilder } from "../../src/control-plane/builds/builder/pod-builder.ts";
import type { GitSource } from "../../src/control-plane/builds/git/git-source.ts";
import { podBlobPrefix } from "../../src/control-plane/builds/pods/build-pod.ts";
import { buildPodRoutes } from "../../src/control-plane/builds/pods/build-pod-routes.ts";
import type { BuildPodOrder, BuildPods } from "../../src/control-plane/builds/pods/build-pods.ts";
import { FolderBlobStore } from "../../src/platform/blob/folder-blob-store.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { SecretBox } from "../../src/platform/encryption/secret-box.ts";
import { createHttpApp } from "../../src/platform/http/pipeline/http-app.ts";
import { listen, type RunningServer } from "../../src/platform/http/server/server.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { Metrics } from "../../src/platform/metrics.ts";
import { createTempFolder, type TempFolder } from "./components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { insertDeployment, insertRevision, insertWorkspace } from "./deployment-rows.ts";

const treadle = fileURLToPath(new URL("../../bin/treadle.js", import.meta.url));
const logger = createLogger({ level: "silent" });
const secretBox = new SecretBox({ currentKey: "a secret key for tests only" });
export const maxBytes = 2_000_000;
export const logMaxLines = 1_000;

/** Each build is a process; `instead` is what a pod does that is not ours. */
export class Processes implements BuildPods {
  readonly image = "treadle:test";
  readonly orders: BuildPodOrder[] = [];
  readonly removed: string[] = [];
  readonly #instead: ((order: BuildPodOrder, url: string) => Promise<void>) | undefined;
  #running: Promise<string | null> = Promise.resolve(null);

  readonly #place: { url: string; folder: string };

  constructor(
    place: { url: string; folder: string },
    instead?: (order: BuildPodOrder, url: string) => Promise<void>,
  ) {
    this.#place = place;
    this.#instead = instead;
  }

  async start(order: BuildPodOrder): Promise<void> {
    this.orders.push(order);
    if (this.orders.length > 1) return;
    const url = `${this.#place.url}/internal/builds/${order.id}`;
    this.#running = this.#instead ? this.#instead(order, url).then(() => null) : this.#spawn(order, url);
  }

  ended(): Promise<string | null> {
    return this.#running;
  }

  async remove({ id }: Pick<BuildPodOrder, "id">): Promise<void> {
    this.removed.push(id);
  }

  async removeOthers(): Promise<void> {}

  async #spawn({ id, token, environment }: BuildPodOrder, url: string): Promise<string | null> {
    const place = join(this.#place.folder, id);
    await mkdir(place);
    const files = { token, environment: JSON.stringify(environment) };
    for (const [name, text] of Object.entries(files)) await writeFile(join(place, name), text);
    const args = ["artifact", "build", url, join(place, "work"), "--token-file", join(place, "token")];
    return await new Promise((resolve) => {
      execFile(
        process.execPath,
        [treadle, ...args, "--environment-file", join(place, "environment")],
        { env: { PATH: process.env.PATH } },
        (error, _stdout, stderr) => resolve(error ? `It ended: ${stderr}` : null),
      );
    });
  }
}

const files = {
  "langgraph.json": JSON.stringify({ graphs: { agent: "./graph.js:graph" } }),
  "graph.js": "export const graph = 1;\n",
  "package.json": JSON.stringify({ name: "quick", type: "module" }),
};

type Parts = {
  test: TestDatabase;
  folder: TempFolder;
  blobs: FolderBlobStore;
  server: RunningServer;
  workspaceId: string;
};

/** Builds in pods, with this machine's processes in the place of pods: tests/kubernetes has the cluster. */
export class PodBuildSite {
  readonly blobs: FolderBlobStore;
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.blobs = parts.blobs;
    this.#parts = parts;
  }

  static async open(): Promise<PodBuildSite> {
    const test = await createTestDatabase({ poolSize: 4 });
    const folder = await createTempFolder("pod-build");
    const blobs = new FolderBlobStore(join(folder.path, "blobs"));
    const workspaceId = await insertWorkspace(test.database.sql);
    const { database } = test;
    const http = createHttpApp({
      routes: buildPodRoutes({ database, clock: systemClock, secretBox, blobs, maxBytes, logMaxLines }),
      authenticator: {
        authenticate: async () => null,
        loopbackCaller: () => Promise.reject(new Error("nobody is asked for")),
      },
      ...{ agentAuthRequired: true, logger, metrics: new Metrics({ processMetrics: false }) },
      ...{ corsOrigins: [], documents: [], validateResponses: true },
    });
    const server = await listen(http, { host: "127.0.0.1", port: 0, logger });
    return new PodBuildSite({ test, folder, blobs, server, workspaceId });
  }

  get database() {
    return this.#parts.test.database;
  }

  get blobFolder(): string {
    return join(this.#parts.folder.path, "blobs");
  }

  get place(): { url: string; folder: string } {
    const { server, folder } = this.#parts;
    return { url: server.url, folder: folder.path };
  }

  pods(instead?: (order: BuildPodOrder, url: string) => Promise<void>): Processes {
    return new Processes(this.place, instead);
  }

  openBuilder(pods: BuildPods, blobs = this.blobs): PodBuilder {
    const { database } = this;
    const folder = this.#parts.folder.path;
    const shelf = new ArtifactShelf({
      ...{ database, clock: systemClock, blobs: null, maxBytes: 1e9 },
      folder: join(folder, "artifacts"),
    });
    return new PodBuilder({
      ...{ database, clock: systemClock, logger, secretBox, blobs, pods, shelf, checkProject, maxBytes },
      ...{ git: {} as GitSource, folder, timeoutMs: 60_000, maxAtOnce: 1 },
      environment: {
        PATH: "/nowhere",
        SSL_CERT_FILE: "/etc/own.pem",
        npm_config_registry: "http://127.0.0.1:9/",
      },
    });
  }

  async ask(given: Record<string, string>, installCommand = "node install.js") {
    const { workspaceId } = this.#parts;
    const { sql } = this.database;
    const deploymentId = await insertDeployment(sql, workspaceId);
    const revisionId = await insertRevision(sql, { workspaceId, deploymentId, status: "BUILDING" });
    const source = await this.#archive({ ...files, ...given });
    const request: BuildRequest = {
      ...{ revisionId, workspaceId, source: async () => source, signal: AbortSignal.timeout(60_000) },
      revisionConfig: { graph_config_path: null } as unknown as BuildRequest["revisionConfig"],
      buildConfig: { install_command: installCommand, build_command: null } as BuildRequest["buildConfig"],
      onLine: () => {},
      onCommit: async () => {},
      note: async () => {},
    };
    return { request, revisionId, log: () => this.#log(revisionId) };
  }

  /** Blobs of the revision's build that no row names. */
  async unclaimed(revisionId: string): Promise<string[]> {
    const { rows } = await raw<{ key: string }>`
      select key from unclaimed_blobs where starts_with(key, ${podBlobPrefix(revisionId)})`.execute(
      this.database.sql,
    );
    return rows.map(({ key }) => key);
  }

  async stored(revisionId: string): Promise<string[]> {
    return (await this.blobs.list(podBlobPrefix(revisionId), { limit: 10 })).map(({ key }) => key);
  }

  async close(): Promise<void> {
    const { server, test, folder } = this.#parts;
    await server.close({ graceMs: 1_000 });
    await test.drop();
    await folder.remove();
  }

  async #archive(given: Record<string, string>): Promise<BuildSource> {
    const source = join(this.#parts.folder.path, randomUUID());
    await mkdir(source);
    for (const [name, text] of Object.entries(given)) await writeFile(join(source, name), text);
    const file = `${source}.tar.gz`;
    await create({ file, gzip: true, cwd: source }, Object.keys(given));
    const content = await readFile(file);
    const sha256 = createHash("sha256").update(content).digest("hex");
    return { kind: "tarball", sha256, save: (to) => writeFile(to, content) };
  }

  async #log(revisionId: string): Promise<{ message: string; origin: string }[]> {
    const { rows } = await raw<{ message: string; origin: string }>`
      select message, origin from deployment_logs where revision_id = ${revisionId} order by id`.execute(
      this.database.sql,
    );
    return rows;
  }
}
