import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../platform/errors.ts";
import type { BuildPlace } from "../build-request.ts";
import { StepFailed } from "../build-step.ts";
import type { GitClient, RepositoryAt, RunGit } from "./git-client.ts";
import { sourceRefused } from "./git-problem.ts";
import { wasRedirected } from "./git-redirect.ts";
import {
  type GitLink,
  isPlainFolder,
  readGitmodules,
  submoduleAccess,
  submoduleUrl,
} from "./git-submodules.ts";
import { findLfsPointers, type ListedFile } from "./lfs-pointers.ts";
import { commitPattern, type RepoUrl } from "./repo-url.ts";

export type CheckOutLimits = { maxBytes: number; maxFiles: number };

type CommitAt = RepositoryAt & { commit: string };
type Modules = ReturnType<typeof readGitmodules>;
type Tree = { at: RepoUrl; files: ListedFile[]; links: GitLink[]; modules: Modules };

const maxSubmodules = 50;
const maxDepth = 5;

/** The files of one commit and of its submodules, in a new folder, without the history. For one use. */
export class GitCheckout {
  readonly #client: GitClient;
  readonly #folder: string;
  readonly #place: BuildPlace;
  readonly #limits: CheckOutLimits;
  readonly #lfsPointers: string[] = [];
  #submodules = 0;

  constructor(options: { client: GitClient; folder: string; place: BuildPlace; limits: CheckOutLimits }) {
    this.#client = options.client;
    this.#folder = options.folder;
    this.#place = options.place;
    this.#limits = options.limits;
  }

  async run(asked: CommitAt): Promise<{ lfsPointers: string[] }> {
    await this.#read(asked, "", 0);
    return { lfsPointers: this.#lfsPointers };
  }

  async #read(asked: CommitAt, under: string, depth: number): Promise<void> {
    const root = join(this.#folder, under);
    const tree = await this.#checkOut(asked, root);
    await rm(join(root, ".git"), { recursive: true, force: true });
    const pointers = await findLfsPointers(root, tree.files);
    this.#lfsPointers.push(...pointers.map((path) => join(under, path)));
    for (const link of tree.links) {
      const name = join(under, link.path);
      const child = await this.#submodule(asked, tree, link, { root, name, depth });
      if (child === null) continue;
      await this.#read(child, name, depth + 1).catch((error: unknown) => {
        if (!(error instanceof AppError) || depth > 0) throw error;
        throw sourceRefused(`The submodule ${name} could not be read. ${error.message}`);
      });
    }
  }

  /** Where a submodule is read from; null for one that stays empty. */
  async #submodule(
    asked: CommitAt,
    tree: Tree,
    link: GitLink,
    { root, name, depth }: { root: string; name: string; depth: number },
  ): Promise<CommitAt | null> {
    const { onLine } = this.#place;
    const known = tree.modules.get(link.path);
    if (!known || known.skipped) {
      const why = known ? "its update is none" : ".gitmodules does not name it";
      onLine(`The submodule ${name} stays empty: ${why}.`);
      return null;
    }
    this.#submodules += 1;
    if (this.#submodules > maxSubmodules)
      throw sourceRefused(`The repository has more than ${maxSubmodules} submodules.`);
    if (depth === maxDepth)
      throw sourceRefused(`Submodules are nested more than ${maxDepth} deep at ${name}.`);
    if (!(await isPlainFolder(root, link.path)))
      throw sourceRefused(`The submodule ${name} has no folder of its own.`);
    const url = submoduleUrl(tree.at, known.url);
    if ("problem" in url) throw sourceRefused(`The submodule ${name} cannot be read. ${url.problem}`);
    if (url.kind === "local" && tree.at.kind !== "local")
      throw sourceRefused(`The submodule ${name} is on the server's own disk, which is not permitted.`);
    const { repository: at, credentials } = submoduleAccess(tree.at, asked.credentials, url);
    onLine(`Submodule ${name}: ${at.text} at ${link.commit.slice(0, 12)}`);
    return { ...asked, ref: null, at, credentials, commit: link.commit };
  }

  async #checkOut(asked: CommitAt, folder: string): Promise<Tree> {
    const { commit } = asked;
    if (!commitPattern.test(commit)) throw sourceRefused(`${commit} is not a commit.`);
    await mkdir(folder, { recursive: true });
    return this.#client.reach(asked, this.#place, async (git, at) => {
      await git(["init", "--quiet", folder]);
      const fetch = (args: string[]) => git(["fetch", "--quiet", "--no-tags", ...args], { cwd: folder });
      try {
        await fetch(["--depth", "1", "--", at.text, commit]);
      } catch (error) {
        // Some servers give out only what a name points to; then everything is fetched.
        if (!(error instanceof StepFailed) || wasRedirected(error)) throw error;
        await fetch(["--", at.text, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"]);
      }
      const listed = await listTree(git, commit, folder, this.#limits);
      await git(["checkout", "--quiet", "--detach", commit], { cwd: folder });
      const modules: Modules =
        listed.links.length === 0 ? new Map() : await modulesOf(git, commit, folder, listed.files);
      return { at, ...listed, modules };
    });
  }
}

/** Before anything is written out: a tree lists the sizes of its files. */
async function listTree(git: RunGit, commit: string, folder: string, limits: CheckOutLimits) {
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
      `The files of the repository are larger than the build limit of ${most} MB. Remove files that are not needed, or raise TREADLE_BUILD_MAX_MB.`,
    );
  }
  return { files, links };
}

async function modulesOf(
  git: RunGit,
  commit: string,
  folder: string,
  files: readonly ListedFile[],
): Promise<Modules> {
  if (!files.some(({ path }) => path === ".gitmodules")) return new Map();
  const lines: string[] = [];
  const args = ["config", "--blob", `${commit}:.gitmodules`, "--no-includes", "--list", "-z"];
  await git(args, { cwd: folder, onLine: (line) => lines.push(line) });
  return readGitmodules(lines.join("\n"));
}
