import { createHmac } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GitRepository } from "../support/components/git-repository.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import {
  type DeploymentBody,
  deploy,
  gitDeployment,
  type RevisionBody,
  revisionDone,
} from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

const token = "ghp_a-very-secret-token-0123456789";
let site: DeploymentSite;
let plane: DeploymentSite["plane"];
let git: DeploymentSite["git"];
let host: Server;
let database: DeploymentSite["database"];
let repository: GitRepository;
let integration: { id: string; webhook_url: string; webhook_secret: string };
let deployment: DeploymentBody;

beforeAll(async () => {
  // The one call of a GitHub-compatible host that is not git itself.
  host = createServer((request, response) => {
    const known = request.headers.authorization === `Bearer ${token}`;
    response.writeHead(known ? 200 : 401, { "content-type": "application/json" });
    const repo = {
      id: 7,
      name: "tracked",
      owner: { login: "team" },
      clone_url: `${git.url}/tracked.git`,
      default_branch: "main",
    };
    response.end(JSON.stringify(known ? [repo] : { message: "Bad credentials" }));
  });
  await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
  site = await startDeploymentSite("integrations", {
    git: { credentials: [{ username: "x-access-token", password: token }] },
    settings: { gitPollMs: 3_600_000 },
  });
  ({ plane, git, database } = site);
  repository = await git.createRepository("tracked", quickProject("one"));
});

afterAll(async () => {
  await site?.stop();
  host?.close();
});

const webhook = (body: string, headers: Record<string, string>) =>
  fetch(integration.webhook_url, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
const sign = (body: string, secret = integration.webhook_secret) =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
const push = (after: string, ref = "refs/heads/main") =>
  JSON.stringify({ ref, after, repository: { clone_url: repository.url } });

describe("a git integration", () => {
  it("is created with a token that is never shown again", async () => {
    const api_url = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
    const body = { name: "team", host: new URL(git.url).host, api_url, token };
    const created = await plane.call<typeof integration>("POST", "/v1/integrations/github", body);
    expect(created.status).toBe(201);
    expect(JSON.stringify(created.body)).not.toContain(token);
    integration = created.body;
    const listed = await plane.call<unknown[]>("GET", "/api-host/v1/integrations/github/install");
    expect(listed.body).toEqual([
      {
        ...{ id: integration.id, installation_id: expect.any(Number), name: "team", credential: "token" },
        ...{ host: body.host, created_at: expect.any(String), deployments: 0, may_remove: true },
      },
    ]);
    expect((await plane.call("POST", "/v1/integrations/github", body)).status).toBe(409);
    const rows = await database.database.query<object>(
      { name: "test_4", text: "select * from git_integrations" },
      [],
    );
    expect(JSON.stringify(rows)).not.toContain(token);
  });

  it("is refused with a token that the host does not know, and nothing is stored", async () => {
    const api_url = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
    const body = { name: "wrong", host: new URL(git.url).host, api_url, token: "ghp_mistyped" };
    const refused = await plane.call<{ detail: string }>("POST", "/v1/integrations/github", body);
    expect(refused).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining("does not accept this token") },
    });
    expect(JSON.stringify(refused.body)).not.toContain("ghp_mistyped");
    const broken = { ...body, token: "ghp_two\nlines" };
    expect((await plane.call("POST", "/v1/integrations/github", broken)).status).toBe(400);
    const app = {
      ...body,
      token: undefined,
      app_id: "1",
      app_installation_id: "2",
      app_private_key: "no key",
    };
    expect((await plane.call("POST", "/v1/integrations/github", app)).status).toBe(400);
    const listed = await plane.call<unknown[]>("GET", "/v1/integrations/github/install");
    expect(listed.body).toHaveLength(1);
  });

  it("is stored where the host cannot be asked: a git server with passwords, one that is away, an SSH key", async () => {
    const store = async (more: object) => {
      const made = await plane.call<{ id: string }>("POST", "/v1/integrations/github", {
        ...{ name: "unknown", host: new URL(git.url).host, token: "x", ...more },
      });
      if (made.status === 201) await plane.call("DELETE", `/v1/integrations/github/${made.body.id}`);
      return made.status;
    };
    expect(await store({ api_url: `${git.url}/plain` })).toBe(201);
    expect(await store({ api_url: "http://127.0.0.1:9" })).toBe(201);
    expect(await store({ token: undefined, ssh_private_key: "a key that ssh reads" })).toBe(201);
  });

  it("lists what its token can read", async () => {
    const repos = await plane.call("GET", `/v1/integrations/github/${integration.id}/repos`);
    expect(repos.body).toEqual([
      {
        host_integration_id: integration.id,
        id: 7,
        name: "tracked",
        owner: "team",
        url: `${git.url}/tracked.git`,
        default_branch: "main",
      },
    ]);
  });

  it("opens a private repository; without it the build says what is missing", {
    timeout: 60_000,
  }, async () => {
    const closed = await deploy(plane, gitDeployment("closed", repository.url));
    expect(closed.revision.status).toBe("BUILD_FAILED");
    expect(closed.revision.status_message).toContain("needs a credential");
    const opened = await deploy(plane, {
      ...gitDeployment("tracked", repository.url),
      source_config: {
        repo_url: repository.url,
        integration_id: integration.id,
        build_on_push: true,
        install_command: quickInstall,
      },
    });
    expect(opened.revision.status).toBe("DEPLOYED");
    deployment = opened.deployment;
    const logs = await plane.call(
      "GET",
      `/v2/deployment-logs?deployment_id=${deployment.id}&log_type=BUILD&page_size=100`,
    );
    const everything = JSON.stringify([logs.body, opened]);
    expect(everything).not.toContain(token);
    expect(everything).not.toContain(Buffer.from(`x-access-token:${token}`).toString("base64"));
  });

  it("is removed by who made it and by admins, by no other editor", async () => {
    const keyOf = async (name: string) => {
      const person = { email: `${name}@example.com`, role: "editor" };
      const member = await plane.call<{ user_id: string }>("POST", "/v2/members", person);
      const body = { name, role: "editor", user_id: member.body.user_id };
      const made = await plane.call<{ key: string }>("POST", "/v2/api-keys", body);
      expect(made.status).toBe(201);
      return { "x-api-key": made.body.key };
    };
    const [maker, other] = [await keyOf("maker"), await keyOf("other")];
    const path = "/v1/integrations/github";
    const body = { name: "robots", host: new URL(git.url).host, ssh_private_key: "a key" };
    const made = await plane.call<{ id: string }>("POST", path, body, maker);
    expect(made.status).toBe(201);
    type Listed = { name: string; may_remove: boolean }[];
    const seen = await plane.call<Listed>("GET", `${path}/install`, undefined, other);
    expect(seen.body.map(({ name, may_remove }) => [name, may_remove])).toContainEqual(["robots", false]);
    expect((await plane.call("DELETE", `${path}/${made.body.id}`, undefined, other)).status).toBe(403);
    expect((await plane.call("DELETE", `${path}/${made.body.id}`, undefined, maker)).status).toBe(204);
  });

  it("cannot be deleted while it is used", async () => {
    expect((await plane.call("DELETE", `/v1/integrations/github/${integration.id}`)).status).toBe(409);
  });
});

describe("build_on_push", () => {
  it("refuses a webhook that is not signed, or signed with something else", async () => {
    const body = push("a".repeat(40));
    expect((await webhook(body, {})).status).toBe(401);
    expect(
      (await webhook(body, { "x-hub-signature-256": sign(body, "another secret of ours") })).status,
    ).toBe(401);
    expect((await webhook(`${body} `, { "x-hub-signature-256": sign(body) })).status).toBe(401);
  });

  it("builds what was pushed, once", { timeout: 60_000 }, async () => {
    const sha = await repository.commit(quickProject("two"), "Two");
    const body = push(sha);
    const headers = { "x-hub-signature-256": sign(body), "x-github-event": "push" };
    const first = (await (await webhook(body, headers)).json()) as { revision_ids: string[] };
    expect(first.revision_ids).toHaveLength(1);
    const again = (await (await webhook(body, headers)).json()) as { revision_ids: string[] };
    expect(again.revision_ids).toEqual([]);
    const done = await revisionDone(plane, deployment.id, first.revision_ids[0]!);
    expect(done).toMatchObject({ status: "DEPLOYED", source_revision_config: { repo_commit_sha: sha } });
    expect(await (await fetch(`${deployment.url}/version`)).json()).toMatchObject({ answer: "two" });
  });

  it("refuses a body that is nested too deeply", async () => {
    const body = `{"ref":"refs/heads/main","x":${"[".repeat(600)}${"]".repeat(600)}}`;
    const answer = await webhook(body, { "x-hub-signature-256": sign(body), "x-github-event": "push" });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain("512 levels");
  });

  it("leaves tags, other branches and deletions alone", async () => {
    for (const body of [
      push("b".repeat(40), "refs/tags/v1"),
      push("b".repeat(40), "refs/heads/other"),
      push("0".repeat(40)),
    ]) {
      const answer = await webhook(body, { "x-hub-signature-256": sign(body), "x-github-event": "push" });
      expect(await answer.json()).toEqual({ revision_ids: [] });
    }
  });

  it("sees a push by looking, where no webhook can reach", { timeout: 60_000 }, async () => {
    const sha = await repository.commit(quickProject("three"), "Three");
    const poll = plane.recurringJobs.find(({ kind }) => kind === "control_plane.poll_branches")!;
    await poll.handler({ signal: new AbortController().signal } as never);
    const { body } = await plane.call<{ resources: RevisionBody[] }>(
      "GET",
      `/v2/deployments/${deployment.id}/revisions?limit=1`,
    );
    const done = await revisionDone(plane, deployment.id, body.resources[0]!.id);
    expect(done).toMatchObject({ status: "DEPLOYED", source_revision_config: { repo_commit_sha: sha } });
  });
});

describe("previews of pull requests", () => {
  type Preview = DeploymentBody & { is_preview: boolean; preview_number: number };
  const secrets = [{ name: "SUFFIX", value: "-of-the-parent" }];
  const turn = (settings: object) => plane.call("PUT", `/v2/deployments/${deployment.id}/previews`, settings);
  const list = async () =>
    (await plane.call<{ resources: Preview[] }>("GET", "/v2/deployments")).body.resources.filter(
      (each) => each.is_preview,
    );
  async function pullRequest(number: number, action: string, sha: string, from = repository.url) {
    const head = { ref: "feature/x", sha, repo: { clone_url: from } };
    const body = JSON.stringify({
      ...{ action, number },
      pull_request: { head, base: { repo: { clone_url: repository.url } } },
    });
    const headers = { "x-hub-signature-256": sign(body), "x-github-event": "pull_request" };
    const answer = await webhook(body, headers);
    expect(answer.status).toBe(202);
    return ((await answer.json()) as { revision_ids: string[] }).revision_ids;
  }

  it("are made, updated and removed with it; without secrets unless they are shared, and never for forks", {
    timeout: 120_000,
  }, async () => {
    const kept = await plane.call<DeploymentBody>("PATCH", `/v2/deployments/${deployment.id}`, { secrets });
    await revisionDone(plane, deployment.id, kept.body.latest_revision_id!);
    const first = await repository.commit(quickProject("preview"), "Preview", "feature/x");
    expect(await pullRequest(7, "opened", first)).toEqual([]);
    expect((await turn({ enabled: true })).status).toBe(200);
    expect(await pullRequest(7, "opened", first, `${git.url}/stranger.git`)).toEqual([]);
    expect(await list()).toEqual([]);

    const [made] = await pullRequest(7, "opened", first);
    expect(await pullRequest(7, "reopened", first)).toEqual([]);
    const [preview] = await list();
    expect(preview).toMatchObject({ name: "tracked-pr-7-feature-x", preview_number: 7, secrets: [] });
    expect((await revisionDone(plane, preview!.id, made!)).status).toBe("DEPLOYED");
    const version = async () => (await fetch(`${preview!.url}/version`)).json();
    expect(await version()).toEqual({ answer: "preview", suffix: null });

    expect((await turn({ enabled: true, share_secrets: true })).status).toBe(200);
    const second = await repository.commit(quickProject("again"), "Again", "feature/x");
    const [next] = await pullRequest(7, "synchronize", second);
    expect((await revisionDone(plane, preview!.id, next!)).status).toBe("DEPLOYED");
    // The gateway hears of the switch a moment after it was committed.
    const isSwitched = async () => ((await version()) as { answer: string }).answer === "again";
    await waitUntil(isSwitched, { what: "the next revision behind the gateway", timeoutMs: 10_000 });
    expect(await version()).toEqual({ answer: "again", suffix: "-of-the-parent" });
    expect(await list()).toHaveLength(1);

    await pullRequest(7, "closed", second);
    expect(await list()).toEqual([]);
    expect((await fetch(`${preview!.url}/version`)).status).toBe(404);
  });

  it("are ten at most, and end when they are turned off", { timeout: 60_000 }, async () => {
    expect((await turn({ enabled: true })).status).toBe(200);
    const sha = await repository.resolve("feature/x");
    for (let number = 100; number < 112; number += 1) await pullRequest(number, "opened", sha);
    expect(await list()).toHaveLength(10);
    expect((await turn({ enabled: false })).status).toBe(200);
    const maintain = plane.recurringJobs.find(({ kind }) => kind === "control_plane.maintain")!;
    await maintain.handler({ signal: new AbortController().signal } as never);
    expect(await list()).toEqual([]);
  });
});

describe("following a revision", () => {
  it("streams its timeline, its lines and its end", { timeout: 60_000 }, async () => {
    await repository.commit(quickProject("four"), "Four");
    const made = await plane.call<RevisionBody>("POST", `/v2/deployments/${deployment.id}/revisions`, {});
    const path = `${plane.url}/v2/deployments/${deployment.id}/revisions/${made.body.id}/events`;
    const text = await (await fetch(path, { headers: { "x-api-key": plane.apiKey } })).text();
    const frames = text
      .split("\n\n")
      .filter((frame) => frame.startsWith("event:"))
      .map((frame) => ({
        event: /^event: (.*)$/m.exec(frame)![1],
        data: JSON.parse(/^data: (.*)$/m.exec(frame)![1]!),
        id: /^id: (.*)$/m.exec(frame)![1]!,
      }));
    expect(frames.some(({ event, data }) => event === "log" && data.message === "linked the packages")).toBe(
      true,
    );
    expect(frames.some(({ event, data }) => event === "event" && data.status === "BUILDING")).toBe(true);
    expect(frames.filter(({ event }) => event === "status").at(-1)!.data.status).toBe("DEPLOYED");
    const half = frames[Math.floor(frames.length / 2)]!;
    const rest = await (
      await fetch(path, { headers: { "x-api-key": plane.apiKey, "last-event-id": half.id } })
    ).text();
    expect(rest.length).toBeLessThan(text.length);
  });

  it("reads the same lines in all three ways", async () => {
    const list = await plane.call<{ resources: RevisionBody[] }>(
      "GET",
      `/v2/deployments/${deployment.id}/revisions?limit=1`,
    );
    const revision = list.body.resources[0]!.id;
    type Lines = { logs: { id: string; message: string }[]; next_offset: string };
    const old = await plane.call<Lines>(
      "POST",
      `/v1/projects/${deployment.id}/revisions/${revision}/build_logs`,
      { order: "asc", limit: 500 },
    );
    const middle = await plane.call<Lines>(
      "GET",
      `/v2/deployments/${deployment.id}/revisions/${revision}/logs?type=build&limit=500`,
    );
    const items: unknown[] = [];
    let cursor = "";
    for (;;) {
      const query = `deployment_id=${deployment.id}&revision_id=${revision}&log_type=BUILD&page_size=3${cursor}`;
      const page = await plane.call<{ items: unknown[]; next_cursor: string | null }>(
        "GET",
        `/v2/deployment-logs?${query}`,
      );
      items.push(...page.body.items);
      if (page.body.next_cursor === null) break;
      cursor = `&cursor=${page.body.next_cursor}`;
    }
    expect(old.body.logs.length).toBeGreaterThan(3);
    expect(middle.body.logs).toEqual(old.body.logs);
    expect(items).toEqual(old.body.logs);
    expect(
      (await plane.call("GET", `/v2/deployments/${deployment.id}/revisions/${revision}/logs`)).status,
    ).toBe(422);
    await waitUntil(
      async () => {
        const server = await plane.call<Lines>(
          "GET",
          `/v2/deployments/${deployment.id}/logs?order=desc&limit=5&query=serving`,
        );
        return server.body.logs.length > 0;
      },
      { what: "the server's lines", timeoutMs: 10_000 },
    );
  });
});
