import { execFile } from "node:child_process";
import { relative, sep } from "node:path";
import { promisify } from "node:util";
import { AppError } from "../../platform/errors.ts";

const run = promisify(execFile);

/** Where a folder's commit can be fetched from, and where in the repository the folder is. */
export type GitPlace = { url: string; commit: string; branch: string | null; folder: string };

/** Throws with what to do when the server could not fetch exactly what is here. */
export async function findGitPlace(root: string): Promise<GitPlace> {
  const git = async (...args: string[]) => (await run("git", args, { cwd: root })).stdout.trim();
  const top = await git("rev-parse", "--show-toplevel").catch((error: unknown) => {
    throw refuse(`${root} is not in a git repository.`, error);
  });
  const commit = await git("rev-parse", "--verify", "HEAD").catch((error: unknown) => {
    throw refuse("The git repository has no commit yet.", error);
  });
  const changes = await git("status", "--porcelain", "--untracked-files=normal");
  if (changes !== "") {
    const files = changes.split("\n").map((line) => line.trim().replace(/^\S+\s+/, ""));
    throw refuse(
      `There are changes that are not committed: ${files.slice(0, 5).join(", ")}${files.length > 5 ? ", …" : ""}.`,
    );
  }
  // Refused when no branch is checked out, and `config` when the branch follows none.
  const branch = await git("symbolic-ref", "--quiet", "--short", "HEAD").catch(() => null);
  const remote =
    branch === null ? "origin" : await git("config", `branch.${branch}.remote`).catch(() => "origin");
  const url = await git("remote", "get-url", remote).catch((error: unknown) => {
    throw refuse(`The git repository has no remote ${remote}.`, error);
  });
  const holding = await git("branch", "--remotes", "--contains", commit, "--format=%(refname:short)");
  if (!holding.split("\n").some((name) => name.startsWith(`${remote}/`))) {
    throw refuse(`The commit ${commit.slice(0, 8)} is not pushed to ${remote}. Push it first.`);
  }
  return { url: withoutCredentials(url), commit, branch, folder: relative(top, root).split(sep).join("/") };
}

/** A token in a remote's address is for this machine alone. */
export function withoutCredentials(url: string): string {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) return url;
  const parsed = new URL(url);
  parsed.username = "";
  parsed.password = "";
  return parsed.href;
}

function refuse(reason: string, cause?: unknown): AppError {
  return new AppError({
    code: "client.git_not_deployable",
    kind: "conflict",
    message: `${reason} Without --git the folder is uploaded as it is.`,
    cause,
  });
}
