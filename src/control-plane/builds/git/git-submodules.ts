import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { GitCredentials } from "../build-request.ts";
import { parseRepoUrl, type RepoUrl } from "./repo-url.ts";

/** A commit of another repository, as a tree names it. */
export type GitLink = { path: string; commit: string };

export type Submodule = GitLink & { url: string; skipped: boolean };

/** `git config --list -z`: a key, a line break, a value, a NUL. */
export function readGitmodules(text: string): Map<string, { url: string; skipped: boolean }> {
  const sections = new Map<string, Map<string, string>>();
  for (const entry of text.split("\0")) {
    const at = entry.indexOf("\n");
    const match = /^submodule\.(.*)\.([a-z]+)$/s.exec(at < 0 ? "" : entry.slice(0, at));
    if (!match) continue;
    const section = sections.get(match[1]!) ?? new Map<string, string>();
    section.set(match[2]!, entry.slice(at + 1));
    sections.set(match[1]!, section);
  }
  const found = new Map<string, { url: string; skipped: boolean }>();
  for (const section of sections.values()) {
    const [path, url] = [section.get("path"), section.get("url")];
    if (path && url) found.set(path, { url, skipped: section.get("update") === "none" });
  }
  return found;
}

/** `../` and `../../` start from the address of the repository that names the submodule. */
export function submoduleUrl(parent: RepoUrl, given: string): RepoUrl | { problem: string } {
  if (!/^\.\.?\//.test(given)) return parseRepoUrl(given);
  const path = parent.kind === "http" ? parent.url.pathname : parent.path;
  const parts = path.split("/").filter((part) => part !== "");
  const rooted = path.startsWith("/") ? "/" : "";
  for (const part of given.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined)
      return { problem: `${given} leads above the host of the repository.` };
  }
  const next = `${rooted}${parts.join("/")}`;
  if (parent.kind === "http") return parseRepoUrl(`${parent.url.origin}${next}`);
  if (parent.kind === "local") return parseRepoUrl(next);
  const user = parent.user === null ? "" : `${parent.user}@`;
  if (!parent.text.startsWith("ssh://")) return parseRepoUrl(`${user}${parent.host}:${next}`);
  return parseRepoUrl(`ssh://${user}${parent.host}:${parent.port}${next}`);
}

/**
 * The credential a submodule is read with: that of the repository that names it if it lies on the same host, otherwise
 * none. If its address is for ssh but a token is available, the same host is called by https.
 */
export function submoduleAccess(
  parent: RepoUrl,
  credentials: GitCredentials,
  child: RepoUrl,
): { repository: RepoUrl; credentials: GitCredentials } {
  if (credentials === null || parent.kind === "local" || child.kind === "local")
    return { repository: child, credentials: null };
  if (parent.kind === "http" && child.kind === "ssh" && child.host === parent.url.hostname) {
    const path = child.path.startsWith("/") ? child.path : `/${child.path}`;
    const same = parseRepoUrl(`${parent.url.origin}${path}`);
    if (!("problem" in same)) return { repository: same, credentials };
  }
  const same =
    (parent.kind === "http" && child.kind === "http" && parent.url.origin === child.url.origin) ||
    (parent.kind === "ssh" &&
      child.kind === "ssh" &&
      parent.host === child.host &&
      parent.port === child.port);
  return { repository: child, credentials: same ? credentials : null };
}

/** The empty folder git makes in the place of a submodule; nothing on the way to it may be a link. */
export async function isPlainFolder(root: string, path: string): Promise<boolean> {
  let at = root;
  for (const part of path.split("/")) {
    if (part === "" || part === "." || part === ".." || part.toLowerCase() === ".git") return false;
    at = join(at, part);
    const found = await lstat(at).catch(() => null);
    if (!found?.isDirectory()) return false;
  }
  return true;
}
