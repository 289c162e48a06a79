import { join } from "node:path";
import { serveGitHttp } from "./git-http-backend.ts";
import { createGitRepository, type GitFiles, type GitRepository } from "./git-repository.ts";
import { startHttpListener } from "./http-listener.ts";
import { ensureDebianPackages } from "./install-packages.ts";
import { createTempFolder } from "./temp-folder.ts";

export interface GitCredentials {
  username: string;
  password: string;
}

export interface GitServer {
  url: string;
  createRepository(name: string, files: GitFiles): Promise<GitRepository>;
  /** Replaces the accepted credentials; an empty list opens the server to everyone. */
  setCredentials(credentials: GitCredentials[]): void;
  stop(): Promise<void>;
}

function readBasicCredentials(header: string | undefined): GitCredentials | undefined {
  const encoded = /^Basic (.+)$/i.exec(header ?? "")?.[1];
  if (!encoded) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon < 0 ? undefined : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Git over HTTP: clone, fetch and push, with basic authentication when credentials are given. */
export async function startGitServer(options: { credentials?: GitCredentials[] } = {}): Promise<GitServer> {
  await ensureDebianPackages(["git"]);
  const folder = await createTempFolder("git");
  const root = join(folder.path, "repositories");
  let accepted = options.credentials ?? [];
  /** As GitHub lists what a token may read. */
  const listed: { id: number; name: string; owner: object; clone_url: string; default_branch: string }[] = [];

  const listener = await startHttpListener(() => (request, response) => {
    const given = readBasicCredentials(request.headers.authorization);
    const known = accepted.some(
      ({ username, password }) => given?.username === username && given.password === password,
    );
    if (request.url?.startsWith("/api/v3/user/repos")) {
      const token = /^Bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1];
      const may = accepted.some(({ password }) => password === token);
      response.writeHead(may ? 200 : 401, { "content-type": "application/json" });
      response.end(JSON.stringify(may ? listed : { message: "Bad credentials" }));
      return;
    }
    if (accepted.length > 0 && !known) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end("Wrong user or password.\n");
      return;
    }
    serveGitHttp(root, known ? given?.username : undefined, request, response);
  });

  return {
    url: listener.origin,
    setCredentials(credentials) {
      accepted = credentials;
    },
    async createRepository(name, files) {
      const url = `${listener.origin}/${name}.git`;
      const owner = { login: "weavers" };
      listed.push({ id: listed.length + 1, name, owner, clone_url: url, default_branch: "main" });
      const authenticated = new URL(url);
      if (accepted[0]) {
        authenticated.username = encodeURIComponent(accepted[0].username);
        authenticated.password = encodeURIComponent(accepted[0].password);
      }
      const path = join(root, `${name}.git`);
      const workFolder = join(folder.path, "work", name);
      return await createGitRepository(
        { path, workFolder, url, authenticatedUrl: authenticated.href },
        files,
      );
    },
    async stop() {
      await listener.stop();
      await folder.remove();
    },
  };
}
