import { generateKeyPairSync } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NetworkGuard } from "../../platform/network/network-guard.ts";
import { parseRepoUrl, type RepoUrl } from "../builds/git/repo-url.ts";
import { apiUrlOf } from "./git-host.ts";
import { GitHostApi } from "./git-host-api.ts";
import { hostProblem, readPush, repositoryKey } from "./integration.ts";

describe("repositories", () => {
  it.each([
    "https://GitHub.com/Team/Agent.git",
    "https://github.com/team/agent/",
    "git@github.com:team/agent.git",
    "ssh://git@github.com/team/agent",
  ])("%s is the same one", (url) => {
    expect(repositoryKey(url)).toBe("github.com/team/agent");
  });

  it("have an API at their host", () => {
    expect(apiUrlOf({ host: "github.com", api_url: null })).toBe("https://api.github.com");
    expect(apiUrlOf({ host: "git.example.com", api_url: null })).toBe("https://git.example.com/api/v3");
    expect(apiUrlOf({ host: "x", api_url: "https://api.example.com/" })).toBe("https://api.example.com");
  });
});

describe("pushes", () => {
  const push = {
    ref: "refs/heads/main",
    after: "a".repeat(40),
    repository: { clone_url: "https://h/a/b.git" },
  };

  it("name a branch and a commit", () => {
    expect(readPush(push)).toEqual({
      repositoryUrls: ["https://h/a/b.git"],
      branch: "main",
      commitSha: "a".repeat(40),
    });
  });
  it.each([
    { ref: "refs/tags/v1" },
    { created: true },
    { deleted: true },
    { after: "0".repeat(40) },
    { ref: 5 },
  ])("are left alone with %j", (change) => {
    expect(readPush({ ...push, ...change })).toBeNull();
  });
  it.each([
    { after: "main" },
    { after: "--upload-pack=id" },
    { after: "a".repeat(39) },
    { after: "A".repeat(40) },
    { after: `${"a".repeat(40)}:refs/heads/x` },
    { ref: "refs/heads/--upload-pack=id\n" },
    { ref: "refs/heads/a..b" },
  ])("are refused with %j", (change) => {
    expect(readPush({ ...push, ...change })).toHaveProperty("problem");
  });
});

describe("the credential of an integration", () => {
  const problem = (host: string, url: string) =>
    hostProblem({ host, name: "team" }, parseRepoUrl(url) as RepoUrl);
  it.each([
    ["github.com", "https://github.com/a/b.git"],
    ["github.com", "git@github.com:a/b.git"],
    ["git.example.com:8443", "https://git.example.com:8443/a"],
    ["http://git.example.com:3000", "http://git.example.com:3000/a"],
    ["127.0.0.1:3000", "http://127.0.0.1:3000/a"],
  ])("of %s is for %s", (host, url) => {
    expect(problem(host, url)).toBeNull();
  });
  it.each([
    ["github.com", "https://evil.example/a/b.git"],
    ["github.com", "https://github.com.evil.example/a"],
    ["github.com", "https://github.com:8443/a"],
    ["github.com", "http://github.com/a"],
    ["github.com", "http://github.com:443/a"],
    ["github.com", "ssh://git@evil.example/a"],
    ["git.example.com:8443", "http://git.example.com:8443/a"],
    ["http://git.example.com:3000", "https://git.example.com:3000/a"],
    ["127.0.0.1:3000", "http://127.0.0.1:3001/a"],
    ["github.com", "/srv/a"],
  ])("of %s is not sent to %s, and it says why", (host, url) => {
    expect(problem(host, url)).toContain(`The integration team is for ${host}`);
  });
});

describe("an app's key", () => {
  const keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
  let host: Server;
  let apiUrl: string;

  beforeAll(async () => {
    host = createServer(async (request, response) => {
      const bearer = request.headers.authorization?.replace("Bearer ", "") ?? "";
      const answer = (status: number, body: unknown) => {
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      };
      if (request.url === "/app/installations/77/access_tokens") {
        const known = await jwtVerify(bearer, keys.publicKey, { issuer: "12" }).then(
          () => true,
          () => false,
        );
        answer(known ? 201 : 401, known ? { token: "installation-token" } : {});
      } else if (bearer === "installation-token") {
        answer(200, {
          repositories: [
            {
              id: 1,
              name: "b",
              owner: { login: "a" },
              clone_url: "https://h/a/b.git",
              default_branch: "main",
            },
          ],
        });
      } else answer(401, {});
    });
    await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
    apiUrl = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
  });
  afterAll(() => host.close());

  const github = new GitHostApi(new NetworkGuard({ allowPrivateAddresses: true }));
  const privateKey = keys.privateKey.export({ type: "pkcs1", format: "pem" }).toString();

  it("is exchanged for a token, which lists what the installation may read", async () => {
    const credentials = { kind: "app", appId: "12", privateKey, installationId: "77" } as const;
    expect(await github.tokenOf({ host: "h", api_url: apiUrl }, credentials)).toBe("installation-token");
    expect(await github.listRepositories({ host: "h", api_url: apiUrl }, credentials)).toEqual([
      { id: 1, name: "b", owner: "a", url: "https://h/a/b.git", default_branch: "main" },
    ]);
  });

  it("of another app is refused with what to check", async () => {
    const credentials = { kind: "app", appId: "13", privateKey, installationId: "77" } as const;
    await expect(github.tokenOf({ host: "h", api_url: apiUrl }, credentials)).rejects.toThrow("answered 401");
  });
});
