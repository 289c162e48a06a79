import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { BuildConfig, SourceRevisionConfig } from "../revisions/revision.ts";
import { openToReaders } from "../runtimes/server-user.ts";
import { deleteArtifact, insertArtifact, takeArtifact } from "./artifact-store.ts";
import { stepEnvironment } from "./build-environment.ts";
import { runStep, StepFailed } from "./build-step.ts";
import { createBuildUsers } from "./build-user.ts";
import { splitCommand } from "./command-guard.ts";
import { type GitCredentials, type GitSource, sshKeyFile } from "./git-source.ts";
import { createManagerTools } from "./manager-tools.ts";
import { readPackageFolders } from "./package-folders.ts";
import { managers, planInstall } from "./package-manager.ts";
import { configPathProblem } from "./repo-url.ts";
import { isInside, refuseForeignLinks, sizeOf } from "./source-tree.ts";
import { unpackTarball } from "./tarball.ts";

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
  source: BuildSource;
  revisionConfig: SourceRevisionConfig;
  buildConfig: BuildConfig;
  signal: AbortSignal;
  onLine(line: string): void;
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
  /** Builds, artifacts and the package cache live below it. */
  folder: string;
  /** What build commands may see of the machine's environment. */
  environment: Record<string, string>;
  timeoutMs: number;
  maxBytes: number;
};

type PlaceOf = () => {
  workFolder: string;
  timeoutMs: number;
  signal: AbortSignal;
  onLine(line: string): void;
};

/** Where and as whom a project's commands run. */
type Workshop = {
  tree: string;
  home: string;
  cache: string;
  user: { uid: number; gid: number } | undefined;
  request: BuildRequest;
  place: PlaceOf;
  /** Folders of package managers that were fetched for it. */
  bins: string[];
};

export function createBuilder(options: BuilderOptions) {
  const artifacts = join(options.folder, "artifacts");
  const users = createBuildUsers();
  const tools = createManagerTools({
    folder: join(options.folder, "tools"),
    environment: options.environment,
  });
  const workFolderOf = (revisionId: string) => join(options.folder, "builds", revisionId);

  async function build(request: BuildRequest): Promise<Built> {
    const workFolder = workFolderOf(request.revisionId);
    try {
      await rm(workFolder, { recursive: true, force: true });
      // Passable, for the user whose folders are in it; only the platform writes into it.
      await mkdir(workFolder, { recursive: true, mode: 0o711 });
      return await buildIn(workFolder, request);
    } catch (error) {
      throw explain(error);
    } finally {
      await rm(workFolder, { recursive: true, force: true, maxRetries: 5 });
    }
  }

  async function buildIn(workFolder: string, request: BuildRequest): Promise<Built> {
    const { source, signal, onLine } = request;
    const deadline = performance.now() + options.timeoutMs;
    const place = () => ({
      workFolder,
      timeoutMs: Math.max(1, deadline - performance.now()),
      signal,
      onLine,
    });
    const configPath = request.revisionConfig.graph_config_path ?? "langgraph.json";
    const problem = configPathProblem(configPath);
    if (problem) throw refused(`graph_config_path ${problem}.`);
    await request.note(source.kind === "git" ? `Reading ${source.url}` : "Reading the uploaded source", 12);
    const commitSha =
      source.kind === "git" ? (source.commit ?? (await options.git.resolve(source, place()))) : null;
    const key = artifactKey(request, commitSha, configPath);
    if (commitSha) onLine(`Commit ${commitSha}`);
    const known = await findUsable(key);
    if (known) {
      onLine(`Already built as ${key.slice(0, 12)}: nothing to do.`);
      return {
        artifactKey: key,
        path: known.path,
        commitSha,
        usesOwnAuth: known.uses_own_auth,
        cached: true,
      };
    }
    const tree = join(workFolder, "source");
    if (source.kind === "git") {
      await request.note(`Fetching ${commitSha!.slice(0, 12)}`, 18);
      await options.git.checkOut({ ...source, commit: commitSha! }, tree, place());
      await rm(join(tree, ".git"), { recursive: true, force: true });
      // No command of the project may find the key its repository was read with.
      await rm(join(workFolder, sshKeyFile), { force: true });
    } else await unpackTarball(source.file, tree, { maxBytes: options.maxBytes, maxEntries: 200_000 });
    await refuseForeignLinks(tree);
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
      { key, path, bytes, uses_own_auth: project.usesOwnAuth },
      options.clock.now(),
    );
    onLine(`Built ${key.slice(0, 12)}, ${Math.round(bytes / 1024 / 1024)} MB.`);
    return { artifactKey: key, path, commitSha, usesOwnAuth: project.usesOwnAuth, cached: false };
  }

  /** Install and build, as somebody with no rights of the platform's where that is possible. */
  async function runCommands(tree: string, configPath: string, request: BuildRequest, place: PlaceOf) {
    const { workFolder } = place();
    const home = join(workFolder, "home");
    const cache = join(options.folder, "cache", request.workspaceId);
    await mkdir(home, { recursive: true });
    await mkdir(cache, { recursive: true });
    const user = await users.take(request.workspaceId, [workFolder, cache, process.execPath]);
    const isUser = "uid" in user;
    const shop: Workshop = { tree, home, cache, user: isUser ? user : undefined, request, place, bins: [] };
    if (!isUser) request.onLine(`Commands run as the platform's own user: ${user.reason}.`);
    try {
      if (isUser) await users.handOver(user, { tree, folders: [home, cache] }, place());
      await install(shop, configPath);
      await runBuildCommand(shop, configPath);
      if (isUser) await users.takeBack(user, tree, place());
      else if (process.getuid?.() === 0) await openToReaders(tree);
    } finally {
      if (isUser) await users.release(user);
    }
  }

  async function findUsable(key: string) {
    const known = await takeArtifact(options.database.sql, key, options.clock.now());
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

  async function install(shop: Workshop, configPath: string): Promise<void> {
    const { request, tree, place } = shop;
    const { install_command: command } = request.buildConfig;
    if (command) {
      await request.note(`Installing: ${command}`, 30);
      await runAll("install_command", command, tree, shop);
      return;
    }
    const plan = planInstall(await readPackageFolders(tree, dirname(configPath)));
    if (!plan) {
      request.onLine("No package.json: nothing to install.");
      return;
    }
    const shown = [plan.command, ...plan.args].join(" ");
    await request.note(`Installing: ${shown} (${plan.because})`, 30);
    shop.bins.push(...(await tools.provide(plan.command, plan.version, place())));
    await step("install", plan.command, plan.args, join(tree, plan.folder), shop);
  }

  async function runBuildCommand(shop: Workshop, configPath: string) {
    const { build_command: command } = shop.request.buildConfig;
    if (!command) return;
    await shop.request.note(`Building: ${command}`, 50);
    await runAll("build_command", command, join(shop.tree, dirname(configPath)), shop);
  }

  async function runAll(name: string, command: string, cwd: string, shop: Workshop) {
    for (const [program, ...args] of splitCommand(command)) {
      const manager = managers.find((known) => known === program);
      if (manager && shop.bins.length === 0)
        shop.bins.push(...(await tools.provide(manager, null, shop.place())));
      await step(name, program!, args, cwd, shop);
    }
  }

  async function step(name: string, command: string, args: string[], cwd: string, shop: Workshop) {
    shop.request.onLine(`$ ${[command, ...args].join(" ")}`);
    const env = stepEnvironment(options.environment, shop, command);
    try {
      await runStep({ ...shop.place(), command, args, cwd, env, user: shop.user });
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      if (/ENOSPC|No space left/i.test(error.tail(40))) throw diskFull();
      throw refused(
        `${name} failed (${[command, ...args].join(" ")}: ${error.ending}). Its last lines:\n${error.tail()}`,
      );
    }
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

/** The same source built by the same commands for the same Node is the same artifact. */
function artifactKey(request: BuildRequest, commitSha: string | null, configPath: string): string {
  const { source, buildConfig } = request;
  const origin = source.kind === "git" ? ["git", source.url, commitSha] : ["tarball", source.sha256];
  const parts = [
    origin,
    configPath,
    buildConfig.install_command,
    buildConfig.build_command,
    process.versions.modules,
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

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

function explain(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT" ? diskFull(error) : error;
}

function diskFull(cause?: unknown): AppError {
  return new AppError({
    code: "build.disk_full",
    kind: "unavailable",
    retryable: false,
    message:
      "The disk of this machine is full. Free some space (old builds are removed with their deployments) and deploy again.",
    cause,
  });
}

function refused(message: string): AppError {
  return new AppError({ code: "build.failed", kind: "invalid", message });
}
