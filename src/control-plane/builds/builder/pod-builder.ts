import { createReadStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { BlobStore } from "../../../platform/blob/blob-store.ts";
import { fetchToFile, removeAll, storeStream } from "../../../platform/blob/blob-transfer.ts";
import { platformFailure } from "../../../platform/blob/platform-failure.ts";
import { announceBlob, claimBlob, giveUpBlobs } from "../../../platform/blob/unclaimed-blobs.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Database, Sql } from "../../../platform/db/database.ts";
import type { SecretBox } from "../../../platform/encryption/secret-box.ts";
import { errorMessage } from "../../../platform/errors.ts";
import { newId, newSecret } from "../../../platform/ids.ts";
import type { Logger } from "../../../platform/logger.ts";
import { buildPodTokenContext } from "../../encryption/sealed-columns.ts";
import { packTree, unpackTree } from "../artifact-pack.ts";
import type { ArtifactShelf } from "../artifact-shelf.ts";
import { BuildDeadline } from "../build-deadline.ts";
import type { BuildRequest, Built, RevisionBuilder } from "../build-request.ts";
import type { GitSource } from "../git/git-source.ts";
import { configPathProblem } from "../git/repo-url.ts";
import {
  type BuildPod,
  type BuildReport,
  podBlobPrefix,
  resultBlobKey,
  sourceBlobKey,
} from "../pods/build-pod.ts";
import {
  deleteBuildPod,
  findBuildPodOf,
  insertBuildPod,
  listBuildPodIds,
  listEndedBuildPods,
} from "../pods/build-pod-store.ts";
import { BuildPodLost, type BuildPodOrder, type BuildPods } from "../pods/build-pods.ts";
import { buildRefused, type ProjectCheck } from "../project-files.ts";
import { KeyedTurns, Turns } from "../turns.ts";
import { UnsafeArchive } from "../unpack-guard.ts";
import { builtText, explainDisk, readsPerWorkspace } from "./builder.ts";
import { SourceReader } from "./source-reader.ts";
import { checkTree, requireBuilt } from "./tree-builder.ts";

export type PodBuilderOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  secretBox: SecretBox;
  blobs: BlobStore;
  pods: BuildPods;
  git: GitSource;
  shelf: ArtifactShelf;
  checkProject(text: string, path: string): ProjectCheck;
  /** Sources and results are below it while they are looked at. */
  folder: string;
  environment: Record<string, string>;
  timeoutMs: number;
  maxBytes: number;
  maxAtOnce: number;
};

/** Compiled code comes on top of what counts, and the archive has headers of its own. */
const maxEntries = 1_000_000;
/** Of one build, where each machine before was lost. */
const mostTries = 3;
const unpackedBytes = (maxBytes: number) => 2 * maxBytes + 1024 ** 3;

/**
 * Builds in pods of a cluster. This process reads the source, with whatever credentials that takes, checks the project
 * file and the result; the pod gets the files of one commit and runs the project's commands. What it is to do is in the
 * database and in the storage, so another process continues where this one ended.
 */
export class PodBuilder implements RevisionBuilder {
  readonly outlivesPlatform = true;
  readonly #options: PodBuilderOptions;
  readonly #sources: SourceReader;
  readonly #reads = new KeyedTurns(readsPerWorkspace);
  readonly #turns: Turns;

  constructor(options: PodBuilderOptions) {
    const { git, shelf, maxBytes, pods } = options;
    this.#options = options;
    this.#turns = new Turns(options.maxAtOnce);
    this.#sources = new SourceReader({
      ...{ git, shelf, maxBytes },
      machine: {
        // The image has one Node and its own Pythons, whatever this machine has.
        installers: [null],
        describe: async () => ({ nodeModulesVersion: `image ${pods.image}` }),
        canUse: async () => true,
      },
    });
  }

  room(begun: number): number {
    return this.#options.maxAtOnce - begun;
  }

  async build(request: BuildRequest): Promise<Built> {
    const workFolder = join(this.#options.folder, "builds", request.revisionId);
    try {
      await rm(workFolder, { recursive: true, force: true });
      await mkdir(workFolder, { recursive: true, mode: 0o700 });
      return await this.#tryAll(request, workFolder);
    } catch (error) {
      throw explainDisk(error);
    } finally {
      await rm(workFolder, { recursive: true, force: true, maxRetries: 5 });
    }
  }

  async clear(revisionId: string): Promise<void> {
    const { database, pods, blobs } = this.#options;
    const pod = await findBuildPodOf(database.sql, revisionId);
    if (!pod) return;
    await pods.remove({ id: pod.id, workspaceId: pod.workspace_id });
    await removeAll(blobs, podBlobPrefix(revisionId));
    // Last: while the row is there, a failure above is tried again.
    await deleteBuildPod(database.sql, revisionId);
  }

  async clearLeft(): Promise<void> {
    const { database, pods, logger } = this.#options;
    for (const revision of await listEndedBuildPods(database.sql)) {
      await this.clear(revision).catch((error: unknown) => {
        logger.warn({ revision, reason: errorMessage(error) }, "what a build left could not be removed");
      });
    }
    await pods.removeOthers(async () => new Set(await listBuildPodIds(database.sql)));
  }

  /** A build whose machine is lost begins again on another, as a new one: what the lost pod may still send is refused. */
  async #tryAll(request: BuildRequest, workFolder: string): Promise<Built> {
    for (let tries = 1; ; tries += 1) {
      const folder = join(workFolder, String(tries));
      await mkdir(folder, { mode: 0o700 });
      try {
        return await this.#try(request, folder);
      } catch (error) {
        if (!(error instanceof BuildPodLost)) throw error;
        if (tries === mostTries) throw buildRefused(`${error.message} Deploy again.`);
        await this.clear(request.revisionId);
        request.onLine(`${error.message} The build begins again on another node.`);
      }
    }
  }

  async #try(request: BuildRequest, workFolder: string): Promise<Built> {
    const begun =
      (await findBuildPodOf(this.#options.database.sql, request.revisionId)) ??
      (await this.#begin(request, workFolder));
    if (!("work" in begun)) return begun;
    if (this.#turns.isFull) await request.note("Waiting for a free builder.", 27);
    return await this.#turns.run(request.signal, () => this.#follow(begun, request, workFolder));
  }

  /** What was built before, or a build that any process may go on with. */
  async #begin(request: BuildRequest, workFolder: string): Promise<Built | BuildPod> {
    const { timeoutMs, maxBytes, database, secretBox, blobs, clock } = this.#options;
    const { revisionId, revisionConfig, buildConfig } = request;
    const configPath = revisionConfig.graph_config_path ?? "langgraph.json";
    const problem = configPathProblem(configPath);
    if (problem) throw buildRefused(`graph_config_path ${problem}.`);
    const deadline = new BuildDeadline(timeoutMs, request.signal);
    const { signal } = deadline;
    const place = () => ({ workFolder, timeoutMs: deadline.leftMs(), signal, onLine: request.onLine });
    const tree = join(workFolder, "source");
    try {
      deadline.pause();
      const read = await this.#reads.run(request.workspaceId, signal, () => {
        deadline.go();
        return this.#sources.read(request, configPath, tree, place);
      });
      if (read.known) return read.known;
      const project = await checkTree({ request, configPath, tree }, this.#options.checkProject);
      const id = newId();
      const key = sourceBlobKey({ id, revision_id: revisionId });
      await announceBlob(database.sql, key);
      const source = await storeStream(blobs, key, packTree(tree));
      const tokenSealed = secretBox.seal(newSecret(), buildPodTokenContext(id));
      const work = {
        ...{ revision_id: revisionId, config_path: configPath, timeout_ms: timeoutMs, max_bytes: maxBytes },
        install_command: buildConfig.install_command ?? null,
        build_command: buildConfig.build_command ?? null,
        ...{ source, artifact_key: await read.keyOf(null), commit_sha: read.commitSha },
        ...{ uses_own_auth: project.usesOwnAuth, files: project.files },
      };
      const row = { id, revisionId, tokenSealed, work, now: clock.now() };
      await database.transaction((tx) => this.#insert(tx, row, key));
      const pod = await findBuildPodOf(database.sql, revisionId);
      if (!pod) throw new Error(`The build of revision ${revisionId} is gone.`);
      return pod;
    } finally {
      deadline.end();
    }
  }

  /** A source that is not needed is swept. */
  async #insert(tx: Sql, row: Parameters<typeof insertBuildPod>[1], key: string): Promise<void> {
    if (!(await insertBuildPod(tx, row))) await giveUpBlobs(tx, [key]);
    else if (!(await claimBlob(tx, key)))
      throw platformFailure("blob.busy", `${key} was taken away before it was used`, null);
  }

  async #follow(pod: BuildPod, request: BuildRequest, workFolder: string): Promise<Built> {
    const { pods, database } = this.#options;
    const order = this.#orderOf(pod);
    if (pod.report === null) {
      await pods.start(order);
      request.onLine("The build runs in a pod of the cluster.");
      const onProblem = (problem: string) => this.#tellProblem(request, problem);
      const end = await pods.ended(order, onProblem, request.signal).catch(lostOrThrow);
      const now = await findBuildPodOf(database.sql, pod.revision_id);
      // What was handed in before counts.
      if (now?.report) return await this.#finish(now, now.report, request, workFolder);
      if (end instanceof BuildPodLost) throw end;
      throw buildRefused(end ?? "The pod of the build ended without a result.");
    }
    return await this.#finish(pod, pod.report, request, workFolder);
  }

  #tellProblem(request: BuildRequest, problem: string): void {
    request.note(`Waiting for the pod of the build: ${problem}`, 28).catch((error: unknown) => {
      // The build is another's by now, or the next write says what is wrong with the database.
      this.#options.logger.debug({ reason: errorMessage(error) }, "a build's progress could not be stored");
    });
  }

  #orderOf({ id, revision_id, deployment_id, workspace_id, token_sealed, work }: BuildPod): BuildPodOrder {
    return {
      ...{ id, revisionId: revision_id, deploymentId: deployment_id, workspaceId: workspace_id },
      token: this.#options.secretBox.open(token_sealed, buildPodTokenContext(id)),
      environment: environmentOfPods(this.#options.environment),
      timeoutMs: work.timeout_ms,
    };
  }

  /** Nothing that a pod made is used before it was looked at here. */
  async #finish(
    pod: BuildPod,
    report: BuildReport,
    request: BuildRequest,
    workFolder: string,
  ): Promise<Built> {
    if (report.kind === "failed") throw buildRefused(report.message, report.tool);
    const { work } = pod;
    const { blobs, shelf, maxBytes } = this.#options;
    const { signal, workspaceId, onLine } = request;
    await request.note("Storing the result", 60);
    const file = join(workFolder, "result.tar.zst");
    const tree = join(workFolder, "result");
    const { attempt, sha256, bytes: packed } = report;
    const outcome = await fetchToFile(blobs, resultBlobKey(pod, attempt), {
      sha256,
      bytes: packed,
      file,
      signal,
    });
    if (outcome !== "fetched") throw buildRefused(`The result of the build is ${outcome}. Deploy again.`);
    const limits = { maxBytes: unpackedBytes(maxBytes), maxEntries };
    await unpackTree(createReadStream(file), tree, { signal, limits }).catch((error: unknown) => {
      throw error instanceof UnsafeArchive ? buildRefused(error.message) : error;
    });
    const bytes = await requireBuilt(tree, { configPath: work.config_path, files: work.files, maxBytes });
    const { artifact_key: key, uses_own_auth: usesOwnAuth, commit_sha: commitSha } = work;
    const path = await shelf.keep(tree, { key, workspaceId, bytes, uses_own_auth: usesOwnAuth });
    onLine(builtText(key, bytes));
    return { artifactKey: key, path, commitSha, usesOwnAuth, cached: false };
  }
}

function lostOrThrow(error: unknown): BuildPodLost {
  if (error instanceof BuildPodLost) return error;
  throw error;
}

/** Without what is true only on this machine: its folders and files. */
export function environmentOfPods(environment: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => name !== "PATH" && !value.startsWith("/")),
  );
}
