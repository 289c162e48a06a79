import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../platform/errors.ts";
import type { CheckedUrl, NetworkGuard } from "../../platform/network/network-guard.ts";
import { runStep, StepFailed } from "./build-step.ts";
import { type GitCredentials, gitEnvironment } from "./git-environment.ts";
import { explained, sourceRefused } from "./git-problem.ts";
import { redirectTarget, wasRedirected } from "./git-redirect.ts";
import {
  type GitLink,
  isPlainFolder,
  readGitmodules,
  submoduleAccess,
  submoduleUrl,
} from "./git-submodules.ts";
import { findLfsPointers, type ListedFile } from "./lfs-pointers.ts";
import { commitPattern, hostOf, parseRepoUrl, type RepoUrl, refProblem } from "./repo-url.ts";
import { untilAborted } from "./until-aborted.ts";

export type { GitCredentials } from "./git-environment.ts";

export type GitSourceOptions = {
  network: NetworkGuard;
  /** Repositories on this machine's own disk. */
  allowLocal: boolean;
  environment: Record<string, string>;
  /** Where the keys of hosts are remembered, a file for each workspace. */
  knownHostsFolder: string;
};

type Place = { workFolder: string; timeoutMs: number; signal: AbortSignal; onLine(line: string): void };
type Repository = { url: string; ref: string | null; credentials: GitCredentials; workspaceId: string };
type Git = (
  args: string[],
  more?: { cwd?: string; timeoutMs?: number; onLine?(line: string): void },
) => Promise<string[]>;
type At = Omit<Repository, "url"> & { at: RepoUrl };

export type CheckOutLimits = { maxBytes: number; maxFiles: number };

const maxRedirects = 3;
const maxSubmodules = 50;
const maxDepth = 5;

/** Reads repositories with git itself. */
export function createGitSource(options: GitSourceOptions) {
  function parse(url: string): RepoUrl {
    const parsed = parseRepoUrl(url);
    if ("problem" in parsed) throw sourceRefused(parsed.problem);
    return parsed;
  }

  /** The address is looked up once; git is kept to what was found. */
  async function check(repository: RepoUrl, signal: AbortSignal): Promise<CheckedUrl | null> {
    if (repository.kind === "local") {
      if (options.allowLocal) return null;
      throw sourceRefused(
        "Repositories on the server's own disk are permitted only while it listens on loopback.",
      );
    }
    const url = repository.kind === "http" ? repository.url : `https://${hostOf(repository)}/`;
    return untilAborted(signal, options.network.checkUrl(url));
  }

  async function prepare({ at, ref, credentials, workspaceId }: At, place: Place): Promise<Git> {
    const problem = ref === null ? null : refProblem(ref);
    if (problem) throw sourceRefused(`The ref ${JSON.stringify(ref)} ${problem}.`);
    const checked = await check(at, place.signal);
    await mkdir(place.workFolder, { recursive: true });
    await mkdir(options.knownHostsFolder, { recursive: true, mode: 0o700 });
    const keyFile = join(place.workFolder, "ssh_key");
    const ssh = { keyFile, knownHostsFile: join(options.knownHostsFolder, workspaceId) };
    const env = gitEnvironment(
      { repository: at, credentials, checked, ssh },
      options.environment,
      place.workFolder,
    );
    return async (
      args,
      { cwd = place.workFolder, timeoutMs = place.timeoutMs, onLine = place.onLine } = {},
    ) => {
      const isKey = at.kind === "ssh" && credentials !== null && "privateKey" in credentials;
      try {
        if (isKey) await writeFile(keyFile, `${credentials.privateKey.trim()}\n`, { mode: 0o600 });
        return await runStep({ ...place, command: "git", args, cwd, env, timeoutMs, onLine });
      } finally {
        // No command of the project, and nobody later, may find the key.
        if (isKey) await rm(keyFile, { force: true });
      }
    };
  }

  /** Does the work where the repository is, or where its host redirects to. */
  async function reach<T>(asked: At, place: Place, work: (git: Git, at: RepoUrl) => Promise<T>): Promise<T> {
    let { at } = asked;
    return explained({ ...asked, url: at.text }, async () => {
      for (let hops = 0; ; hops += 1) {
        try {
          return await work(await prepare({ ...asked, at }, place), at);
        } catch (error) {
          if (at.kind !== "http" || hops === maxRedirects || !wasRedirected(error)) throw error;
          at = await redirectTarget(options.network, at, asked.credentials, place.signal);
          place.onLine(`Redirected to ${at.text}`);
        }
      }
    });
  }

  async function checkOutAt(
    asked: At & { commit: string },
    folder: string,
    place: Place,
    limits: CheckOutLimits,
  ) {
    if (!commitPattern.test(asked.commit)) throw sourceRefused(`${asked.commit} is not a commit.`);
    await mkdir(folder, { recursive: true });
    return reach(asked, place, async (git, at) => {
      await git(["init", "--quiet", folder]);
      const fetch = (args: string[]) => git(["fetch", "--quiet", "--no-tags", ...args], { cwd: folder });
      try {
        await fetch(["--depth", "1", "--", at.text, asked.commit]);
      } catch (error) {
        // Some servers give out only what a name points to; then everything is fetched.
        if (!(error instanceof StepFailed) || wasRedirected(error)) throw error;
        await fetch(["--", at.text, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"]);
      }
      const listed = await listTree(git, asked.commit, folder, limits);
      await git(["checkout", "--quiet", "--detach", asked.commit], { cwd: folder });
      const modules =
        listed.links.length === 0 ? new Map() : await modulesOf(git, asked.commit, folder, listed.files);
      return { at, ...listed, modules: modules as ReturnType<typeof readGitmodules> };
    });
  }

  /** Before anything is written out: a tree lists the sizes of its files. */
  async function listTree(git: Git, commit: string, folder: string, limits: CheckOutLimits) {
    const files: ListedFile[] = [];
    const links: GitLink[] = [];
    let bytes = 0;
    const tooMany = () => links.length > maxSubmodules || files.length > limits.maxFiles;
    await git(["ls-tree", "-r", "--long", "--full-tree", commit], {
      cwd: folder,
      onLine(line) {
        const match = /^(\d{6}) (?:blob|commit) ([0-9a-f]+) +(\d+|-)\t(.+)$/.exec(line);
        if (!match || tooMany()) return;
        const [, mode, sha, size, path] = match;
        bytes += Number(size === "-" ? 0 : size);
        if (mode === "160000") links.push({ path: path!, commit: sha! });
        else files.push({ path: path!, bytes: Number(size) });
      },
    });
    if (files.length > limits.maxFiles)
      throw sourceRefused(`The repository holds more than ${limits.maxFiles} files.`);
    if (bytes > limits.maxBytes) {
      const most = Math.round(limits.maxBytes / 1024 / 1024);
      throw sourceRefused(
        `The files of the repository are larger than ${most} MB, the most a build may be. Leave out what is not needed, or raise TREADLE_BUILD_MAX_MB.`,
      );
    }
    return { files, links };
  }

  async function modulesOf(git: Git, commit: string, folder: string, files: readonly ListedFile[]) {
    if (!files.some(({ path }) => path === ".gitmodules")) return new Map();
    const lines: string[] = [];
    const args = ["config", "--blob", `${commit}:.gitmodules`, "--no-includes", "--list", "-z"];
    await git(args, { cwd: folder, onLine: (line) => lines.push(line) });
    return readGitmodules(lines.join("\n"));
  }

  return {
    /** Only addresses that never may be used are refused here; whether anybody answers is found out in the build. */
    async checkAddress(repoUrl: string): Promise<void> {
      const parsed = parseRepoUrl(repoUrl);
      if ("problem" in parsed || parsed.kind === "local") return;
      const url = parsed.kind === "http" ? parsed.url : `https://${hostOf(parsed)}/`;
      await options.network.checkUrl(url).catch((error: unknown) => {
        if (error instanceof AppError && error.code === "network.address_refused") throw error;
      });
    },

    /** The commit a branch, tag or commit name stands for, without fetching anything. */
    async resolve(repository: Repository, place: Place): Promise<string> {
      const at = parse(repository.url);
      const { ref } = repository;
      if (ref !== null && commitPattern.test(ref)) return ref;
      const quiet = Math.min(place.timeoutMs, 60_000);
      const names = ref === null ? ["HEAD"] : refNames(ref);
      const lines: string[] = [];
      await reach({ ...repository, at }, place, (git, { text }) =>
        git(["ls-remote", "--quiet", "--", text, ...names], {
          timeoutMs: quiet,
          onLine(line) {
            if (!/^[0-9a-f]{40,64}\t/.test(line)) place.onLine(line);
            else if (lines.length < 100) lines.push(line);
          },
        }),
      );
      const found = new Map(
        lines.flatMap((line) => {
          const match = /^([0-9a-f]{40,64})\t(\S+)$/.exec(line);
          return match ? [[match[2]!, match[1]!] as const] : [];
        }),
      );
      for (const name of names) {
        const sha = found.get(name);
        if (sha !== undefined && commitPattern.test(sha)) return sha;
      }
      throw sourceRefused(
        ref === null
          ? `${at.text} has no commits yet. Push one, or name a branch in repo_ref.`
          : `${at.text} has no branch, tag or commit named ${ref}. Check repo_ref.`,
      );
    },

    /** The files of one commit and of its submodules, in a new folder, without the history. */
    async checkOut(
      repository: Repository & { commit: string },
      folder: string,
      place: Place,
      limits: CheckOutLimits,
    ): Promise<{ lfsPointers: string[] }> {
      let modules = 0;
      const lfsPointers: string[] = [];

      async function read(asked: At & { commit: string }, under: string, depth: number): Promise<void> {
        const root = join(folder, under);
        const tree = await checkOutAt(asked, root, place, limits);
        await rm(join(root, ".git"), { recursive: true, force: true });
        const pointers = await findLfsPointers(root, tree.files);
        lfsPointers.push(...pointers.map((path) => join(under, path)));
        for (const link of tree.links) {
          const name = join(under, link.path);
          const known = tree.modules.get(link.path);
          if (!known || known.skipped) {
            const why = known ? "its update is none" : ".gitmodules does not name it";
            place.onLine(`The submodule ${name} stays empty: ${why}.`);
            continue;
          }
          modules += 1;
          if (modules > maxSubmodules)
            throw sourceRefused(`The repository has more than ${maxSubmodules} submodules.`);
          if (depth === maxDepth)
            throw sourceRefused(`Submodules are nested more than ${maxDepth} deep at ${name}.`);
          if (!(await isPlainFolder(root, link.path)))
            throw sourceRefused(`The submodule ${name} has no folder of its own.`);
          const url = submoduleUrl(tree.at, known.url);
          if ("problem" in url) throw sourceRefused(`The submodule ${name} cannot be read. ${url.problem}`);
          if (url.kind === "local" && tree.at.kind !== "local")
            throw sourceRefused(
              `The submodule ${name} lies on the server's own disk, which is not permitted.`,
            );
          const access = submoduleAccess(tree.at, asked.credentials, url);
          place.onLine(`Submodule ${name}: ${access.repository.text} at ${link.commit.slice(0, 12)}`);
          const child = {
            ...asked,
            ref: null,
            at: access.repository,
            credentials: access.credentials,
            commit: link.commit,
          };
          await read(child, name, depth + 1).catch((error: unknown) => {
            if (!(error instanceof AppError) || depth > 0) throw error;
            throw sourceRefused(`The submodule ${name} could not be read. ${error.message}`);
          });
        }
      }

      await read({ ...repository, at: parse(repository.url) }, "", 0);
      return { lfsPointers };
    },
  };
}

export type GitSource = ReturnType<typeof createGitSource>;

/** What a short name may stand for, the likeliest first; an annotated tag's commit is behind `^{}`. */
function refNames(ref: string): string[] {
  if (ref.startsWith("refs/tags/")) return [`${ref}^{}`, ref];
  if (ref.startsWith("refs/") || ref === "HEAD") return [ref];
  return [`refs/heads/${ref}`, `refs/tags/${ref}^{}`, `refs/tags/${ref}`];
}
