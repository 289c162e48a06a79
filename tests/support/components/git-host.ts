import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { startHttpListener } from "./http-listener.ts";

/** An open pull request, as a person would describe it. */
export type OpenRequest = {
  number: number;
  branch: string;
  sha: string;
  updatedAt: string;
  /** Its branch is in another repository. */
  fork?: boolean;
};
export type SeenRequest = { path: string; page: number; conditional: boolean; status: number };

export type GitHost = {
  githubUrl: string;
  gitlabUrl: string;
  open: OpenRequest[];
  /** Every request, in order. */
  seen: SeenRequest[];
  /** Answers the next requests, the first first. */
  refusals: { status: number; headers?: Record<string, string> }[];
  stop(): Promise<void>;
};

/**
 * The lists of pull requests as GitHub and GitLab serve them: tokens, pages of `per_page`, the latest change first, an
 * ETag for each answer and 304 for who knows it.
 */
export async function startGitHost(of: {
  token: string;
  path: string;
  cloneUrl: () => string;
}): Promise<GitHost> {
  const host: Omit<GitHost, "stop" | "githubUrl" | "gitlabUrl"> = { open: [], seen: [], refusals: [] };
  const githubPath = `/repos/${of.path}/pulls`;
  const gitlabPath = `/api/v4/projects/${encodeURIComponent(of.path)}/merge_requests`;

  const githubItem = ({ number, branch, sha, updatedAt, fork }: OpenRequest) => ({
    ...{ number, state: "open", updated_at: updatedAt },
    head: {
      ref: branch,
      sha,
      repo: fork ? { clone_url: "https://example.com/stranger/agent.git" } : { clone_url: of.cloneUrl() },
    },
    base: { ref: "main", repo: { clone_url: of.cloneUrl() } },
  });
  const gitlabItem = ({ number, branch, sha, updatedAt, fork }: OpenRequest) => ({
    ...{ id: 1000 + number, iid: number, state: "opened", updated_at: updatedAt, sha },
    ...{ source_branch: branch, source_project_id: fork ? 8 : 7, target_project_id: 7 },
  });

  function answer(request: IncomingMessage, url: URL) {
    if (request.headers.authorization !== `Bearer ${of.token}`)
      return { status: 401, body: { message: "Bad credentials" } };
    const refusal = host.refusals.shift();
    if (refusal) return { body: { message: "Refused" }, ...refusal };
    const isGithub = url.pathname === githubPath && url.searchParams.get("state") === "open";
    const isGitlab = url.pathname === gitlabPath && url.searchParams.get("state") === "opened";
    if (!isGithub && !isGitlab) return { status: 404, body: { message: "Not Found" } };
    const size = Number(url.searchParams.get("per_page") ?? 30);
    const page = Number(url.searchParams.get("page") ?? 1);
    const latest = host.open.toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt));
    const items = latest
      .slice((page - 1) * size, page * size)
      .map((each) => (isGithub ? githubItem(each) : gitlabItem(each)));
    const etag = `W/"${createHash("sha256").update(JSON.stringify(items)).digest("hex")}"`;
    const known = request.headers["if-none-match"] === etag;
    return { status: known ? 304 : 200, headers: { etag }, body: known ? null : items };
  }

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", "http://host");
    const {
      status,
      headers = {},
      body,
    } = answer(request, url) as {
      status: number;
      headers?: Record<string, string>;
      body: unknown;
    };
    host.seen.push({
      ...{ path: url.pathname, page: Number(url.searchParams.get("page") ?? 1), status },
      conditional: request.headers["if-none-match"] !== undefined,
    });
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(body === null ? undefined : JSON.stringify(body));
  }

  const listener = await startHttpListener(() => serve);
  return Object.assign(host, {
    githubUrl: listener.origin,
    gitlabUrl: `${listener.origin}/api/v4`,
    stop: listener.stop,
  });
}
