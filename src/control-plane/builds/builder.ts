import { mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { BuildConfig, SourceRevisionConfig } from "../revisions/revision.ts";
import { openToReaders } from "../runtimes/server-user.ts";
import type { Walls } from "../sandbox/walls.ts";
import { artifactKey } from "./artifact-key.ts";
import { deleteArtifact, insertArtifact, takeArtifact } from "./artifact-store.ts";
import { createBuildCommands, type PlaceOf } from "./build-commands.ts";
import { createBuildDeadline } from "./build-deadline.ts";
import { createBuildUsers } from "./build-user.ts";
import { diskFull } from "./disk-full.ts";
import type { GitCredentials, GitSource } from "./git-source.ts";
import { createManagerTools } from "./manager-tools.ts";
import { configPathProblem } from "./repo-url.ts";
import { isInside, refuseForeignLinks, sizeOf } from "./source-tree.ts";
import { unpackTarball } from "./tarball.ts";
import { KeyedTurns, Turns } from "./turns.ts";

export type ProjectCheck = {
  /** What is wrong with the file; empty when nothing is. */
  problems: string[];
  /** Files it names, from its own folder. */
  files: string[];
  usesOwnAuth: boolean;
  nodeVersion: string | null;
};

export type BuildSource =
  | { kind: "git"; url: string; ref: string | null; commit: string | null; credentials: GitCredentials }
  | { kind: "tarball"; file: string; sha256: string };

export type BuildRequest = {
  revisionId: string;
  workspaceId: string;
  /** Asked for once it is this build's turn to read. */
  source(signal: AbortSignal): Promise<BuildSource>;
  revisionConfig: SourceRevisionConfig;
  buildConfig: BuildConfig;
  signal: AbortSignal;
  onLine(line: string): void;
  /** As soon as it is known, whatever becomes of the build. */
  onCommit(commitSha: string): Promise<void>;
  note(message: string, progress: number): Promise<void>;
};

export type Built = {
  artifactKey: string;
  path: string;
  commitSha: string | null;
  usesOwnAuth: boolean;
  cached: boolean;
};

export type BuilderOptions = {
  database: Database;
  clock: Clock;
  git: GitSource;
  checkProject(text: string, path: string): ProjectCheck;
  /** Builds, artifacts and package caches live below it. */
  folder: string;
  /** What build commands may see of the machine's environment. */
  environment: Record<string, string>;
  timeoutMs: number;
  maxBytes: number;
  /** What the commands of a project run behind. */
  walls: Walls;
  /** How many builds run their commands at once. */
  maxAtOnce: number;
};

/** A source that has been read, or what was built from it before. */
type Read = { commitSha: string | null; key: string; known: Built | null };

const maxFiles = 200_000;
/** Hosts that do not answer hold up their own workspace and nobody else. */
const readsPerWorkspace = 4;
const shownPointers = 10;

export function createBuilder(options: BuilderOptions) {
  const artifacts = join(options.folder, "artifacts");
  const users = createBuildUsers(
    join(options.folder, "cache"),
    async () => (await options.walls.isolation()).kind,
  );
  const tools = createManagerTools({
    folder: join(options.folder, "tools"),
    environment: options.environment,
  });
  const commands = createBuildCommands({ tools, environment: options.environment, walls: options.walls });
  const reads = new KeyedTurns(readsPerWorkspace);
  const turns = new Turns(options.maxAtOnce);
  const workFolderOf = (revisionId: string) => join(options.folder, "builds", revisionId);

  async function build(request: BuildRequest): Promise<Built> {
    const workFolder = workFolderOf(request.revisionId);
    const deadline = createBuildDeadline(options.timeoutMs, request.signal);
    const { signal } = deadline;
    const place = () => ({ workFolder, timeoutMs: deadline.leftMs(), signal, onLine: request.onLine });
    const tree = join(workFolder, "source");
    try {
      await rm(workFolder, { recursive: true, force: true });
      // Passable, for the user whose folders are in it; only the platform writes into it.
      await mkdir(workFolder, { recursive: true, mode: 0o711 });
      const configPath = request.revisionConfig.graph_config_path ?? "langgraph.json";
      const problem = configPathProblem(configPath);
      if (problem) throw refused(`graph_config_path ${problem}.`);
      deadline.pause();
      const read = await reads.run(request.workspaceId, signal, () => {
        deadline.go();
        return readSource(request, configPath, tree, place);
      });
      if (read.known) return read.known;
      // A host that hangs has held no builder; from here on everything is this machine's own work.
      deadline.pause();
      if (turns.isFull) await request.note("Waiting for a free builder.", 22);
      return await turns.run(signal, () => {
        deadline.go();
        return buildTree(request, configPath, tree, read, place);
      });
    } catch (error) {
      throw explain(error);
    } finally {
      deadline.end();
      await rm(workFolder, { recursive: true, force: true, maxRetries: 5 });
    }
  }

  async function readSource(
    request: BuildRequest,
    configPath: string,
    tree: string,
    place: PlaceOf,
  ): Promise<Read> {
    const { onLine, workspaceId, buildConfig } = request;
    const source = await request.source(place().signal);
    await request.note(source.kind === "git" ? `Reading ${source.url}` : "Reading the uploaded source", 12);
    const asked = { ...source, workspaceId };
    const commitSha =
      asked.kind === "git" ? (asked.commit ?? (await options.git.resolve(asked, place()))) : null;
    if (commitSha) {
      onLine(`Commit ${commitSha}`);
      await request.onCommit(commitSha);
    }
    const key = artifactKey({
      workspaceId,
      origin:
        source.kind === "git"
          ? { kind: "git", url: source.url, commitSha: commitSha! }
          : { kind: "tarball", sha256: source.sha256 },
      configPath,
      buildConfig,
      nodeModulesVersion: process.versions.modules,
    });
    const known = await findUsable(workspaceId, key);
    if (known) {
      onLine(`Already built as ${key.slice(0, 12)}: nothing to do.`);
      const { path, uses_own_auth: usesOwnAuth } = known;
      return { commitSha, key, known: { artifactKey: key, path, commitSha, usesOwnAuth, cached: true } };
    }
    const limits = { maxBytes: options.maxBytes, maxFiles };
    if (asked.kind === "git") {
      await request.note(`Fetching ${commitSha!.slice(0, 12)}`, 18);
      const { lfsPointers } = await options.git.checkOut(
        { ...asked, commit: commitSha! },
        tree,
        place(),
        limits,
      );
      if (lfsPointers.length > 0) await request.note(lfsText(lfsPointers), 20);
    } else await unpackTarball(asked.file, tree, { ...limits, signal: place().signal });
    await refuseForeignLinks(tree);
    return { commitSha, key, known: null };
  }

  async function buildTree(
    request: BuildRequest,
    configPath: string,
    tree: string,
    { commitSha, key }: Read,
    place: PlaceOf,
  ): Promise<Built> {
    const { onLine } = request;
    await request.note(`Checking ${configPath}`, 25);
    const project = await checkConfig(tree, configPath);
    if (project.nodeVersion)
      onLine(`node_version ${project.nodeVersion} asked for; this runtime uses ${process.versions.node}.`);
    await runCommands(tree, configPath, request, place);
    await missingFiles(tree, configPath, project);
    const bytes = await checkSize(tree);
    await request.note("Storing the result", 60);
    const path = join(artifacts, key);
    // Passable but not listed: the names are known only to those who may read them.
    await mkdir(artifacts, { recursive: true, mode: 0o711 });
    await moveInto(tree, path);
    // The row is the commit point: a folder without one is not trusted.
    await insertArtifact(
      options.database.sql,
      { key, workspace_id: request.workspaceId, path, bytes, uses_own_auth: project.usesOwnAuth },
      options.clock.now(),
    );
    onLine(`Built ${key.slice(0, 12)}, ${Math.round(bytes / 1024 / 1024)} MB.`);
    return { artifactKey: key, path, commitSha, usesOwnAuth: project.usesOwnAuth, cached: false };
  }

  /** Install and build, as somebody with no rights of the platform's where that is possible. */
  async function runCommands(tree: string, configPath: string, request: BuildRequest, place: PlaceOf) {
    await users.withUser(request.workspaceId, tree, place(), async (lease) => {
      if (lease.reason !== null) request.onLine(`Commands run as the platform's own user: ${lease.reason}.`);
      await commands.run(lease, { tree, configPath, request, place });
      if (lease.user) await users.takeBack(lease.user, tree, place());
      else if (process.getuid?.() === 0) await openToReaders(tree);
    });
  }

  async function findUsable(workspaceId: string, key: string) {
    const known = await takeArtifact(options.database.sql, workspaceId, key, options.clock.now());
    if (!known) return undefined;
    if (await exists(known.path)) return known;
    await deleteArtifact(options.database.sql, key);
    return undefined;
  }

  async function checkConfig(tree: string, configPath: string): Promise<ProjectCheck> {
    const text = await readFile(join(tree, configPath), "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT" && error.code !== "ENOTDIR" && error.code !== "EISDIR") throw error;
      throw refused(
        `There is no file ${configPath} in the source. Add it, or name another in graph_config_path.`,
      );
    });
    const project = options.checkProject(text, configPath);
    const folder = join(tree, dirname(configPath));
    const outside = project.files.filter((file) => !isInside(tree, join(folder, file)));
    const problems = [...project.problems, ...outside.map((file) => `${file} lies outside the source`)];
    if (problems.length > 0) throw refused(`${configPath} cannot be used:\n  ${problems.join("\n  ")}`);
    return project;
  }

  /** After the build command, which may have made them. */
  async function missingFiles(tree: string, configPath: string, project: ProjectCheck): Promise<void> {
    const folder = join(tree, dirname(configPath));
    const missing: string[] = [];
    for (const file of project.files) if (!(await exists(join(folder, file)))) missing.push(file);
    if (missing.length === 0) return;
    throw refused(`${configPath} names files that do not exist: ${missing.join(", ")}. Correct the paths.`);
  }

  async function checkSize(tree: string): Promise<number> {
    const bytes = await sizeOf(tree, options.maxBytes);
    if (bytes <= options.maxBytes) return bytes;
    throw refused(
      `The built project is larger than ${Math.round(options.maxBytes / 1024 / 1024)} MB, the most a build may be. Leave out what is not needed, or raise TREADLE_BUILD_MAX_MB.`,
    );
  }

  return { build, workFolderOf, artifacts };
}

export type Builder = ReturnType<typeof createBuilder>;

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Somebody else may have built the same a moment earlier; theirs is as good. */
async function moveInto(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
    await rm(from, { recursive: true, force: true });
  }
}

function lfsText(paths: readonly string[]): string {
  const more = paths.length - shownPointers;
  const shown = paths.slice(0, shownPointers).join(", ");
  return `Git LFS keeps the content of ${paths.length} file${paths.length === 1 ? "" : "s"}, which is not fetched: ${shown}${more > 0 ? ` and ${more} more` : ""}. Only pointers are in their place. Commit what the agent needs, or fetch it in install_command.`;
}

function explain(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT" ? diskFull(error) : error;
}

function refused(message: string): AppError {
  return new AppError({ code: "build.failed", kind: "invalid", message });
}
