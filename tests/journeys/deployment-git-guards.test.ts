import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { git as runGit } from "../support/components/git-repository.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import {
  type DeploymentBody,
  deploy,
  gitDeployment,
  type RevisionBody,
  revisionDone,
} from "../support/deployments.ts";
import { quickProject } from "../support/quick-project.ts";

const token = "ghp_a-token-that-must-not-leave-0123456789";
let site: DeploymentSite;
let plane: DeploymentSite["plane"];
let git: DeploymentSite["git"];
let integration: { id: string; webhook_url: string; webhook_secret: string };
/** A host that answers every request with a redirect, and remembers what it was asked with. */
let elsewhere: Server;
let redirectTo = "";
const asked: { url: string; headers: IncomingHttpHeaders }[] = [];
let hanging: TcpServer;

const portOf = (server: Server | TcpServer) => (server.address() as AddressInfo).port;

beforeAll(async () => {
  elsewhere = createServer((request, response) => {
    asked.push({ url: request.url ?? "", headers: request.headers });
    response.writeHead(
      redirectTo === "" ? 404 : 302,
      redirectTo === "" ? {} : { location: `${redirectTo}${request.url}` },
    );
    response.end();
  });
  hanging = createTcpServer(() => undefined);
  for (const server of [elsewhere, hanging])
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  site = await startDeploymentSite("git-guards", {
    git: { credentials: [{ username: "x-access-token", password: token }] },
    settings: { gitPollMs: 3_600_000, buildConcurrency: 1 },
  });
  ({ plane, git } = site);
  const body = { name: "team", host: new URL(git.url).host, token };
  integration = (await plane.call<typeof integration>("POST", "/v1/integrations/github", body)).body;
});

afterAll(async () => {
  await site?.stop();
  elsewhere?.close();
  hanging?.close();
});

/** Prints files of the source and fails, so that nothing has to be started to see what was read. */
const printing = (...paths: string[]) =>
  quickProject("x", {
    "install.js": `import { readFileSync } from "node:fs";
for (const path of ${JSON.stringify(paths)}) console.log(path + " holds " + readFileSync(path, "utf8").trim());
process.exit(3);`,
  });

const withToken = (name: string, url: string, more: object = {}) =>
  gitDeployment(name, url, {
    source_config: {
      repo_url: url,
      integration_id: integration.id,
      install_command: "node install.js",
      ...more,
    },
  });

describe("the token of an integration", () => {
  it("goes to its own host only: another repo_url is refused, and says why", async () => {
    for (const url of [
      `http://127.0.0.1:${portOf(elsewhere)}/a.git`,
      "https://evil.example/a.git",
      "ssh://git@evil.example/a",
    ]) {
      const answer = await plane.call<{ detail: string }>("POST", "/v2/deployments", withToken("thief", url));
      expect([answer.status, answer.body.detail]).toEqual([
        400,
        expect.stringContaining("The integration team is for"),
      ]);
    }
    expect(asked).toEqual([]);
  });

  it("is not taken along when a deployment from before names it", { timeout: 60_000 }, async () => {
    const repository = await git.createRepository("before", quickProject("x"));
    const { deployment } = await deploy(plane, withToken("before", repository.url));
    const stolen = JSON.stringify(`http://127.0.0.1:${portOf(elsewhere)}/a.git`);
    await site.database.database.query(
      {
        name: "test_steal",
        text: "update deployments set source_config = jsonb_set(source_config, '{repo_url}', $2::jsonb) where id = $1",
      },
      [deployment.id, stolen],
    );
    const made = await plane.call<RevisionBody>("POST", `/v2/deployments/${deployment.id}/revisions`, {});
    expect(made.status).toBe(400);
    expect(asked).toEqual([]);
  });

  it("does not follow a redirect to another host; without one the redirect is followed", {
    timeout: 60_000,
  }, async () => {
    const repository = await git.createRepository("moved", printing("graph.js"));
    const host = `127.0.0.1:${portOf(elsewhere)}`;
    redirectTo = git.url;
    const theirs = await plane.call<{ id: string }>("POST", "/v1/integrations/github", {
      name: "theirs",
      host,
      token: "their-own-token",
    });
    const address = `http://${host}/moved.git`;
    const { revision } = await deploy(plane, withToken("moved", address, { integration_id: theirs.body.id }));
    expect(revision.status).toBe("BUILD_FAILED");
    expect(revision.status_message).toContain("the integration's credential is not sent there");
    git.setCredentials([]);
    const open = await deploy(
      plane,
      gitDeployment("open", address, {
        source_config: { repo_url: address, install_command: "node install.js" },
      }),
    );
    git.setCredentials([{ username: "x-access-token", password: token }]);
    expect(open.revision.status_message).toContain("graph.js holds");
    expect(open.revision.source_revision_config.repo_commit_sha).toBe(await repository.resolve("main"));
    redirectTo = "";
  });
});

describe("addresses and names git could take for something else", () => {
  it.each([
    // Loopback on both sides: where this were not refused, nobody else must be asked.
    "http://127.0.0.2\\@127.0.0.1:9/x.git",
    "http://127.0.0.1:9\\@127.0.0.2/x.git",
    "https://user@127.0.0.1/x.git",
    "https://127.0.0\u3002.1:9/x.git",
    "ext::sh -c id",
    "--upload-pack=id",
  ])("%s is refused before anything is started", async (url) => {
    const answer = await plane.call("POST", "/v2/deployments", gitDeployment("odd", url));
    expect(answer.status).toBe(422);
  });

  it("a push that names no commit is refused", async () => {
    for (const after of ["main", "--upload-pack=id", "a".repeat(41)]) {
      const body = JSON.stringify({
        ref: "refs/heads/main",
        after,
        repository: { clone_url: `${git.url}/x.git` },
      });
      const signature = createHmac("sha256", integration.webhook_secret).update(body).digest("hex");
      const answer = await fetch(integration.webhook_url, {
        method: "POST",
        body,
        headers: { "content-type": "application/json", "x-hub-signature-256": `sha256=${signature}` },
      });
      expect(answer.status).toBe(400);
    }
  });
});

describe("submodules and large files", () => {
  async function addSubmodule(
    parent: { path: string },
    name: string,
    url: string,
    commit: string,
    more = "",
  ) {
    const work = join(parent.path, "..", "..", "work", name);
    await runGit(work, "config", "--file", ".gitmodules", "submodule.lib.path", "lib");
    await runGit(work, "config", "--file", ".gitmodules", "submodule.lib.url", url);
    if (more) await runGit(work, "config", "--file", ".gitmodules", "submodule.lib.update", more);
    await runGit(work, "update-index", "--add", "--cacheinfo", `160000,${commit},lib`);
    await runGit(work, "add", ".gitmodules");
    await runGit(work, "commit", "--quiet", "--message", "Submodule");
    await runGit(work, "push", "--quiet", "origin", "HEAD:refs/heads/main");
  }

  it("are fetched with the same credential where they lie on the same host, also within one another", {
    timeout: 60_000,
  }, async () => {
    const inner = await git.createRepository("inner", { "deep.txt": "from the inner one" });
    const lib = await git.createRepository("lib", { "lib.txt": "from the library" });
    await addSubmodule(lib, "lib", "../inner.git", await inner.resolve("main"));
    const parent = await git.createRepository("parent", printing("lib/lib.txt", "lib/lib/deep.txt"));
    await addSubmodule(parent, "parent", lib.url, await lib.resolve("main"));
    const { revision } = await deploy(plane, withToken("with-submodules", parent.url));
    expect(revision.status_message).toContain("lib/lib.txt holds from the library");
    expect(revision.status_message).toContain("lib/lib/deep.txt holds from the inner one");
  });

  it.each([
    [
      "another host, which gets no token",
      () => `http://127.0.0.1:${portOf(elsewhere)}/lib.git`,
      "The submodule lib could not be read",
    ],
    ["this machine's disk", () => "/etc", "is on the server's own disk"],
    ["a program", () => "ext::sh -c id", "The submodule lib cannot be read"],
    ["an option", () => "--upload-pack=id", "The submodule lib cannot be read"],
    ["above its host", () => "../../../../../x", "leads above the host"],
  ])("from %s", { timeout: 60_000 }, async (what, url, said) => {
    const name = `sub-${what.replaceAll(/[^a-z]/g, "-")}`;
    const parent = await git.createRepository(name, quickProject("x"));
    await addSubmodule(parent, name, url(), "b".repeat(40));
    asked.length = 0;
    const { revision } = await deploy(plane, withToken(name, parent.url));
    expect([revision.status, revision.status_message]).toEqual([
      "BUILD_FAILED",
      expect.stringContaining(said),
    ]);
    for (const { headers } of asked) expect(headers.authorization).toBeUndefined();
  });

  it("kept by Git LFS are named, because only their pointers come", { timeout: 60_000 }, async () => {
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"4d7a".repeat(16)}\nsize 12345\n`;
    const files = { ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "model.bin": pointer };
    const repository = await git.createRepository("lfs", { ...printing("graph.js"), ...files });
    const { revision } = await deploy(plane, withToken("lfs", repository.url));
    const messages = revision.events.map(({ message }) => message).join("\n");
    expect(messages).toContain("Git LFS keeps the content of 1 file, which is not downloaded: model.bin");
  });
});

describe("a build that fails", () => {
  it("names its commit", { timeout: 60_000 }, async () => {
    const repository = await git.createRepository("named", printing("graph.js"));
    const { revision } = await deploy(plane, withToken("named", repository.url));
    const sha = await repository.resolve("main");
    expect(revision.status).toBe("BUILD_FAILED");
    expect(revision.source_revision_config.repo_commit_sha).toBe(sha);
    expect(revision.status_message).toContain(`Commit ${sha.slice(0, 12)}:`);
  });
});

describe("a change of secrets", () => {
  it("ships the commit that was built last, and says which; the newest only when asked", {
    timeout: 90_000,
  }, async () => {
    const repository = await git.createRepository("kept", printing("graph.js"));
    const { deployment } = await deploy(plane, withToken("kept", repository.url));
    const first = await repository.resolve("main");
    const second = await repository.commit({ "more.txt": "more" }, "More");
    const path = `/v2/deployments/${deployment.id}`;
    const changed = await plane.call<DeploymentBody>("PATCH", path, { secrets: [{ name: "A", value: "b" }] });
    expect(changed.body.source_revision_config).toMatchObject({ repo_commit_sha: first });
    const kept = await revisionDone(plane, deployment.id, changed.body.latest_revision_id!);
    expect(kept.source_revision_config.repo_commit_sha).toBe(first);
    expect(kept.events[0]!.message).toContain(`Deploys commit ${first} again`);
    const newest = await plane.call<DeploymentBody>("PATCH", path, {
      source_revision_config: { repo_ref: "main" },
    });
    const done = await revisionDone(plane, deployment.id, newest.body.latest_revision_id!);
    expect(done.source_revision_config.repo_commit_sha).toBe(second);
  });
});

describe("a git host that accepts and never answers", () => {
  it("holds neither the one builder nor the end of the platform", { timeout: 60_000 }, async () => {
    const begun = async (name: string) => {
      const url = `http://127.0.0.1:${portOf(hanging)}/${name}.git`;
      const made = await plane.call<DeploymentBody>("POST", "/v2/deployments", gitDeployment(name, url));
      const path = `/v2/deployments/${made.body.id}/revisions/${made.body.latest_revision_id}`;
      await waitUntil(async () => (await plane.call<RevisionBody>("GET", path)).body.status === "BUILDING", {
        what: "the build to begin",
        timeoutMs: 20_000,
      });
    };
    for (const name of ["hanging-1", "hanging-2"]) await begun(name);
    const repository = await git.createRepository("meanwhile", printing("graph.js"));
    const made = await plane.call<DeploymentBody>(
      "POST",
      "/v2/deployments",
      withToken("meanwhile", repository.url),
    );
    const done = await revisionDone(plane, made.body.id, made.body.latest_revision_id!, 20_000);
    expect(done.status_message).toContain("graph.js holds");
    const started = performance.now();
    await site.stop();
    expect(performance.now() - started).toBeLessThan(15_000);
  });
});
