import type { Integration, IntegrationCredentials, Repository } from "./integration.ts";
import { type PullRequest, readHead } from "./pull-request.ts";

export type Place = Pick<Integration, "host" | "api_url">;
export type HostKind = "github" | "gitlab";

/** GitLab's API is recognised by its path; most hosts have GitHub's API. */
export function hostKindOf(place: Place): HostKind {
  return /\/api\/v4$/.test(apiUrlOf(place)) ? "gitlab" : "github";
}

export function apiUrlOf({ host, api_url: given }: Place): string {
  if (given) return given.replace(/\/+$/, "");
  if (host === "github.com") return "https://api.github.com";
  if (host === "gitlab.com") return "https://gitlab.com/api/v4";
  return host.includes("://") ? `${host}/api/v3` : `https://${host}/api/v3`;
}

/** `owner/name` of a repository's address, with groups within groups where the host has them. */
export function repositoryPath(place: Place, url: string): string | null {
  const web = /^(?:https?|ssh|git):\/\/[^/]+\/(.+)$/i.exec(url);
  const scp = /^(?:[^@/:]+@)?[^/:]+:(?!\/\/)(.+)$/.exec(url);
  const path = (web ?? scp)?.[1]?.replace(/\/+$/, "").replace(/\.git$/i, "");
  const parts = path?.split("/") ?? [];
  const isWhole = parts.every((part) => /^[\w.-]+$/.test(part) && part !== "." && part !== "..");
  const fits = hostKindOf(place) === "gitlab" ? parts.length >= 2 : parts.length === 2;
  return isWhole && fits ? parts.join("/") : null;
}

type Page = { pageSize: number; page: number };

export function repositoriesPath(
  place: Place,
  credentials: IntegrationCredentials["kind"],
  { pageSize, page }: Page,
): string {
  const pages = `per_page=${pageSize}&page=${page}`;
  if (hostKindOf(place) === "gitlab") return `/projects?membership=true&simple=true&${pages}`;
  return `${credentials === "app" ? "/installation/repositories" : "/user/repos"}?${pages}`;
}

export function pullRequestsPath(place: Place, path: string, { pageSize, page }: Page): string {
  const pages = `per_page=${pageSize}&page=${page}`;
  return hostKindOf(place) === "gitlab"
    ? `/projects/${encodeURIComponent(path)}/merge_requests?state=opened&order_by=updated_at&sort=desc&${pages}`
    : `/repos/${path}/pulls?state=open&sort=updated&direction=desc&${pages}`;
}

type Json = Record<string, unknown>;
const part = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});
const itemsOf = (value: unknown): Json[] => (Array.isArray(value) ? value.map(part) : []);

export function readRepositories(place: Place, answer: unknown): Repository[] {
  if (hostKindOf(place) === "gitlab")
    return itemsOf(answer).map((given) => ({
      id: Number(given.id),
      name: String(given.path ?? given.name),
      owner: String(part(given.namespace).full_path ?? ""),
      url: String(given.http_url_to_repo ?? given.web_url ?? ""),
      default_branch: String(given.default_branch ?? "main"),
    }));
  const list = Array.isArray(answer) ? answer : part(answer).repositories;
  return itemsOf(list).map((given) => ({
    id: Number(given.id),
    name: String(given.name),
    owner: String(part(given.owner).login ?? ""),
    url: String(given.clone_url ?? given.html_url ?? ""),
    default_branch: String(given.default_branch ?? "main"),
  }));
}

/** An open one, as a list of the host has it. */
export type ListedRequest = Omit<PullRequest, "action" | "repositoryUrls"> & { updatedAt: Date };

/** What can be used of a page, how long the page was, and its oldest change. */
export function readPullRequests(
  place: Place,
  answer: unknown,
): { found: ListedRequest[]; count: number; oldest: Date | null } {
  const items = itemsOf(answer);
  const read = hostKindOf(place) === "gitlab" ? readMergeRequest : readListedRequest;
  const found = items.map(read).filter((request) => request !== null);
  const oldest = found.length === 0 ? null : new Date(Math.min(...found.map((each) => +each.updatedAt)));
  return { found, count: items.length, oldest };
}

function readListedRequest(given: Json): ListedRequest | null {
  const head = readHead(given.number, given);
  const updatedAt = new Date(String(given.updated_at));
  return "problem" in head || Number.isNaN(+updatedAt) ? null : { ...head.request, updatedAt };
}

function readMergeRequest(given: Json): ListedRequest | null {
  // As in GitHub's format: the owner of the branch's project shows whether it is a fork.
  const url = (project: unknown) => (typeof project === "number" ? `https://project/${project}` : null);
  const [from, to] = [url(given.source_project_id), url(given.target_project_id)];
  return readListedRequest({
    number: given.iid,
    updated_at: given.updated_at,
    head: { ref: given.source_branch, sha: given.sha, repo: { url: from } },
    base: { repo: { url: to } },
  });
}

const longestWaitMs = 6 * 3_600_000;

/** How long the host asks to wait: `Retry-After`, or when its limit is renewed. */
export function waitMsOf(headers: Headers, now: Date): number | null {
  const after = Number(headers.get("retry-after") ?? Number.NaN);
  const remaining = headers.get("x-ratelimit-remaining") ?? headers.get("ratelimit-remaining");
  const reset = Number(headers.get("x-ratelimit-reset") ?? headers.get("ratelimit-reset") ?? Number.NaN);
  const waitMs =
    after >= 0 ? after * 1000 : remaining === "0" && reset > 0 ? reset * 1000 - now.getTime() : null;
  return waitMs === null ? null : Math.min(longestWaitMs, Math.max(0, waitMs));
}

const firstWaitMs = 60_000;

/** After so many refusals in a row, and never less than the host asked for. */
export function backOffMs(failures: number, asked: number | null): number {
  return Math.max(asked ?? 0, Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(failures - 1, 20)));
}
