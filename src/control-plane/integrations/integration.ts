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
  created_at: Date;
};

export type Repository = { id: number; name: string; owner: string; url: string; default_branch: string };

export function apiUrlOf(integration: Pick<Integration, "host" | "api_url">): string {
  if (integration.api_url) return integration.api_url.replace(/\/+$/, "");
  return integration.host === "github.com" ? "https://api.github.com" : `https://${integration.host}/api/v3`;
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
export function readPush(body: Record<string, unknown>): Push | null {
  const { ref, after, deleted, created } = body;
  if (typeof ref !== "string" || typeof after !== "string") return null;
  if (!ref.startsWith("refs/heads/") || deleted === true || created === true || /^0+$/.test(after))
    return null;
  const repository = (body.repository ?? {}) as Record<string, unknown>;
  const urls = ["clone_url", "ssh_url", "html_url", "git_url", "url"].map((name) => repository[name]);
  return {
    repositoryUrls: urls.filter((url): url is string => typeof url === "string"),
    branch: ref.slice("refs/heads/".length),
    commitSha: after,
  };
}
