import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { BuildConfig, SourceRevisionConfig } from "../revisions/revision.ts";
import { openToReaders } from "../runtimes/server-user.ts";
import { deleteArtifact, insertArtifact, takeArtifact } from "./artifact-store.ts";
import { runStep, StepFailed } from "./build-step.ts";
import { splitCommand } from "./command-guard.ts";
import type { GitCredentials, GitSource } from "./git-source.ts";
import { foldersUp, planInstall } from "./package-manager.ts";
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

export function createBuilder(options: BuilderOptions) {
  const artifacts = join(options.folder, "artifacts");
  const workFolderOf = (revisionId: string) => join(options.folder, "builds", revisionId);

  async function build(request: BuildRequest): Promise<Built> {
    const workFolder = workFolderOf(request.revisionId);
    try {
      await rm(workFolder, { recursive: true, force: true });
      await mkdir(workFolder, { recursive: true, mode: 0o700 });
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
    } else await unpackTarball(source.file, tree, { maxBytes: options.maxBytes, maxEntries: 200_000 });
    await refuseForeignLinks(tree);
    await request.note(`Checking ${configPath}`, 25);
    const project = await checkConfig(tree, configPath);
    if (project.nodeVersion)
      onLine(`node_version ${project.nodeVersion} asked for; this runtime uses ${process.versions.node}.`);
    await install(tree, configPath, request, place);
    await runBuildCommand(tree, configPath, request, place);
    await missingFiles(tree, configPath, project);
    const bytes = await checkSize(tree);
    await request.note("Storing the result", 60);
    const path = join(artifacts, key);
    // Passable but not listed: the names are known only to those who may read them.
    await mkdir(artifacts, { recursive: true, mode: 0o711 });
    if (process.getuid?.() === 0) await openToReaders(tree);
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

  type PlaceOf = () => {
    workFolder: string;
    timeoutMs: number;
    signal: AbortSignal;
    onLine(line: string): void;
  };

  async function install(
    tree: string,
    configPath: string,
    request: BuildRequest,
    place: PlaceOf,
  ): Promise<void> {
    const { install_command: command } = request.buildConfig;
    if (command) {
      await request.note(`Installing: ${command}`, 30);
      await runAll("install_command", command, tree, request, place);
      return;
    }
    const folders = await Promise.all(
      foldersUp(dirname(configPath)).map(async (folder) => ({
        folder,
        files: new Set(await readdir(join(tree, folder))),
      })),
    );
    const plan = planInstall(folders);
    if (!plan) {
      request.onLine("No package.json: nothing to install.");
      return;
    }
    const shown = [plan.command, ...plan.args].join(" ");
    await request.note(`Installing: ${shown} (${plan.because})`, 30);
    await step("install", plan.command, plan.args, join(tree, plan.folder), request, place);
  }

  async function runBuildCommand(tree: string, configPath: string, request: BuildRequest, place: PlaceOf) {
    const { build_command: command } = request.buildConfig;
    if (!command) return;
    await request.note(`Building: ${command}`, 50);
    await runAll("build_command", command, join(tree, dirname(configPath)), request, place);
  }

  async function runAll(name: string, command: string, cwd: string, request: BuildRequest, place: PlaceOf) {
    for (const [program, ...args] of splitCommand(command)) {
      await step(name, program!, args, cwd, request, place);
    }
  }

  async function step(
    name: string,
    command: string,
    args: string[],
    cwd: string,
    request: BuildRequest,
    place: PlaceOf,
  ) {
    request.onLine(`$ ${[command, ...args].join(" ")}`);
    const { workFolder } = place();
    const env = {
      ...options.environment,
      HOME: workFolder,
      CI: "1",
      npm_config_cache: join(options.folder, "cache", "npm"),
      npm_config_update_notifier: "false",
      npm_config_audit: "false",
      npm_config_fund: "false",
      YARN_CACHE_FOLDER: join(options.folder, "cache", "yarn"),
      npm_config_store_dir: join(options.folder, "cache", "pnpm"),
    };
    try {
      await runStep({ ...place(), command, args, cwd, env });
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
