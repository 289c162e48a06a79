import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runCommand } from "./run-command.ts";

/** Path in the repository to content; null removes the file. */
export type GitFiles = Record<string, string | null>;

export interface GitRepository {
  url: string;
  /** The URL with the first credentials of the server in it, when it has any. */
  authenticatedUrl: string;
  /** The bare repository on disk. */
  path: string;
  /** Commits on a branch (`main` unless given, created where missing) and returns the commit's id. */
  commit(files: GitFiles, message: string, branch?: string): Promise<string>;
  /** Tags a commit, the head of `main` unless given. */
  tag(name: string, commit?: string): Promise<void>;
  /** The commit a branch, tag or other revision points to. */
  resolve(revision: string): Promise<string>;
  /** A file's content at a revision. */
  read(path: string, revision?: string): Promise<string>;
  /** Forces a branch to a commit, as a force push does. */
  moveBranch(branch: string, commit: string): Promise<void>;
}

/** Git without the settings of the machine, with a fixed author, never asking for a password. */
export async function git(cwd: string, ...args: string[]): Promise<string> {
  const { stdout } = await runCommand("git", args, {
    cwd,
    env: {
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_TERMINAL_PROMPT: "0",
      GIT_AUTHOR_NAME: "Test Author",
      GIT_AUTHOR_EMAIL: "author@example.com",
      GIT_COMMITTER_NAME: "Test Author",
      GIT_COMMITTER_EMAIL: "author@example.com",
    },
  });
  return stdout.trimEnd();
}

async function writeFiles(folder: string, files: GitFiles): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path);
    if (content === null) {
      await rm(file);
      continue;
    }
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

export async function createGitRepository(
  location: { path: string; workFolder: string; url: string; authenticatedUrl: string },
  files: GitFiles,
): Promise<GitRepository> {
  const { path, workFolder, url, authenticatedUrl } = location;
  await mkdir(path, { recursive: true });
  await mkdir(workFolder, { recursive: true });
  await git(path, "init", "--bare", "--quiet", "--initial-branch=main");
  await git(path, "config", "http.receivepack", "true");
  await git(workFolder, "init", "--quiet", "--initial-branch=main");
  await git(workFolder, "remote", "add", "origin", path);

  const commit = async (changed: GitFiles, message: string, branch = "main") => {
    // What was pushed by others meanwhile is the base of this commit.
    await git(workFolder, "fetch", "--quiet", "--prune", "--force", "--tags", "origin");
    const remotes = (await git(workFolder, "branch", "--remotes", "--format=%(refname:short)")).split("\n");
    const base = [`origin/${branch}`, "origin/main"].find((name) => remotes.includes(name));
    if (base) await git(workFolder, "checkout", "--quiet", "--force", "-B", branch, base);
    await writeFiles(workFolder, changed);
    await git(workFolder, "add", "--all");
    await git(workFolder, "commit", "--quiet", "--allow-empty", "--message", message);
    await git(workFolder, "push", "--quiet", "origin", `HEAD:refs/heads/${branch}`);
    return await git(workFolder, "rev-parse", "HEAD");
  };
  await commit(files, "Initial commit");

  return {
    url,
    authenticatedUrl,
    path,
    commit,
    tag: async (name, target = "main") => void (await git(path, "tag", "--force", name, target)),
    resolve: (revision) => git(path, "rev-parse", "--verify", `${revision}^{commit}`),
    read: (file, revision = "main") => git(path, "show", `${revision}:${file}`),
    moveBranch: async (branch, target) =>
      void (await git(path, "update-ref", `refs/heads/${branch}`, target)),
  };
}
