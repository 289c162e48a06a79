import { commitPattern, type RepoUrl, refProblem } from "../builds/git/repo-url.ts";

/** How a git host is entered. An app's key is exchanged for a short-lived token each time. */
export type IntegrationCredentials =
  | { kind: "token"; token: string }
  | { kind: "ssh"; privateKey: string }
  | { kind: "app"; appId: string; privateKey: string; installationId: string };

export type Integration = {
  id: string;
  workspace_id: string;
  installation_id: number;
  name: string;
  host: string;
  api_url: string | null;
  credentials_sealed: string;
  webhook_secret_sealed: string;
  created_by: string | null;
  created_at: Date;
};

export type Repository = { id: number; name: string; owner: string; url: string; default_branch: string };

/**
 * Why the credential of an integration is not for this repository, or null. It is sent only to the host it was made
 * for: a user who may name an integration must not be able to learn its token.
 */
export function hostProblem(
  { host, name }: Pick<Integration, "host" | "name">,
  repository: RepoUrl,
): string | null {
  const wanted = new URL(host.includes("://") ? host : `https://${host}`);
  const belongs = `The integration ${name} is for ${host}, and its credential is sent nowhere else.`;
  const advice = "Correct repo_url, or create an integration for the other host.";
  if (repository.kind === "local") return `${belongs} repo_url is a folder of this machine. ${advice}`;
  const found = repository.kind === "http" ? repository.url.hostname : repository.host;
  if (found !== wanted.hostname) return `${belongs} repo_url is at ${found}. ${advice}`;
  // The port of a web host has nothing to do with ssh, where a key is never sent.
  if (repository.kind === "ssh") return null;
  const { url } = repository;
  // Connections to this machine itself cannot be eavesdropped on.
  const isPlain =
    !host.includes("://") &&
    /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(wanted.hostname) &&
    url.protocol === "http:";
  const same = isPlain ? url.port === wanted.port : url.origin === wanted.origin;
  return same ? null : `${belongs} repo_url is at ${url.origin}, not at ${wanted.origin}. ${advice}`;
}

/** One form for the many ways to write the same repository: `host/owner/name`. */
export function repositoryKey(url: string): string | null {
  const web = /^(?:https?|ssh|git|file):\/\/(?:[^@/]*@)?([^/]*)\/(.+)$/i.exec(url);
  const scp = /^(?:[^@/:]+@)?([^/:]+):(?!\/\/)(.+)$/.exec(url);
  const found = web ?? scp;
  if (!found) return null;
  const path = found[2]!.replace(/\/+$/, "").replace(/\.git$/i, "");
  return `${found[1]!.toLowerCase()}/${path.toLowerCase()}`;
}

export type Push = { repositoryUrls: string[]; branch: string; commitSha: string };

/** A push to a branch that exists, or null: tags, new branches and deletions build nothing. */
export function readPush(body: Record<string, unknown>): Push | { problem: string } | null {
  const { ref, after, deleted, created } = body;
  if (typeof ref !== "string" || typeof after !== "string") return null;
  if (!ref.startsWith("refs/heads/") || deleted === true || created === true || /^0+$/.test(after))
    return null;
  if (!commitPattern.test(after))
    return { problem: "`after` is not a commit id of 40 or 64 hexadecimal digits." };
  if (refProblem(ref)) return { problem: "`ref` is not the name of a branch." };
  const repository = (body.repository ?? {}) as Record<string, unknown>;
  const urls = ["clone_url", "ssh_url", "html_url", "git_url", "url"].map((name) => repository[name]);
  return {
    repositoryUrls: urls.filter((url): url is string => typeof url === "string"),
    branch: ref.slice("refs/heads/".length),
    commitSha: after,
  };
}
