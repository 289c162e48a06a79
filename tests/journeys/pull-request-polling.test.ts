import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RevisionMaker } from "../../src/control-plane/desired-state/revision-maker.ts";
import { GitHostApi } from "../../src/control-plane/integrations/git-host-api.ts";
import { IntegrationService } from "../../src/control-plane/integrations/integration-service.ts";
import { PreviewService } from "../../src/control-plane/integrations/preview-service.ts";
import { PullRequestPoll } from "../../src/control-plane/integrations/pull-request-poll.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { SecretBox } from "../../src/platform/encryption/secret-box.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { NetworkGuard } from "../../src/platform/network/network-guard.ts";
import { type GitHost, startGitHost } from "../support/components/git-host.ts";
import type { GitRepository } from "../support/components/git-repository.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import { type DeploymentBody, deploy, gitDeployment, revisionDone } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";
import { createClient } from "../support/treadle-client.ts";

const token = "glpat-a-very-secret-token";
type Preview = DeploymentBody & { is_preview: boolean; preview_number: number };

let site: DeploymentSite;
let plane: DeploymentSite["plane"];
let host: GitHost;
let repository: GitRepository;

beforeAll(async () => {
  site = await startDeploymentSite("pull-request-polling", {
    git: { credentials: [{ username: "x-access-token", password: token }] },
    // Nobody looks but the test.
    settings: { gitPollMs: 3_600_000 },
  });
  ({ plane } = site);
  repository = await site.git.createRepository("team/agent", quickProject("main"));
  host = await startGitHost({ token, path: "team/agent", cloneUrl: () => repository.url });
}, 60_000);
afterAll(async () => {
  await site?.stop();
  await host?.stop();
});

const job = (kind: string) =>
  plane.recurringJobs
    .find((each) => each.kind === kind)!
    .handler({
      signal: new AbortController().signal,
    } as never);
const look = () => job("control_plane.poll_branches");
const list = async () =>
  (await plane.call<{ resources: Preview[] }>("GET", "/v2/deployments")).body.resources
    .filter((each) => each.is_preview)
    .map(({ name }) => name)
    .toSorted();
const turn = (id: string, settings: object) => plane.call("PUT", `/v2/deployments/${id}/previews`, settings);
const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

async function deployed(name: string, apiUrl: string): Promise<DeploymentBody> {
  const integration = await plane.call<{ id: string }>("POST", "/v1/integrations/github", {
    ...{ name, host: new URL(site.git.url).host, api_url: apiUrl, token },
  });
  expect(integration.status).toBe(201);
  const made = await deploy(plane, {
    ...gitDeployment(name, repository.url),
    source_config: {
      ...{ repo_url: repository.url, integration_id: integration.body.id, install_command: quickInstall },
    },
  });
  expect(made.revision.status).toBe("DEPLOYED");
  return made.deployment;
}

describe.each(["github", "gitlab"] as const)("pull requests that no webhook reports, at %s", (kind) => {
  let parent: DeploymentBody;
  let sha: string;
  const branch = `feature/${kind}`;
  const named = (number: number) => `${kind}-pr-${number}-feature-${kind}`;

  beforeAll(async () => {
    parent = await deployed(kind, kind === "github" ? host.githubUrl : host.gitlabUrl);
    sha = await repository.commit(quickProject("preview"), "Preview", branch);
    host.open = [
      { number: 7, branch, sha, updatedAt: ago(0) },
      { number: 8, branch, sha, updatedAt: ago(0), fork: true },
      { number: 9, branch, sha, updatedAt: ago(15) },
    ];
  }, 120_000);

  it("the host is not asked while nobody wants previews", async () => {
    host.seen.length = 0;
    await look();
    expect(host.seen).toEqual([]);
  });

  it("each gets a preview that serves; forks and those nobody touched for 14 days get none", {
    timeout: 120_000,
  }, async () => {
    expect((await turn(parent.id, { enabled: true })).status).toBe(200);
    await look();
    expect(await list()).toEqual([named(7)]);
    const { body } = await plane.call<{ resources: Preview[] }>("GET", "/v2/deployments");
    const preview = body.resources.find((each) => each.is_preview)!;
    expect((await revisionDone(plane, preview.id, preview.latest_revision_id!)).status).toBe("DEPLOYED");
    expect(await (await fetch(`${preview.url}/version`)).json()).toMatchObject({ answer: "preview" });
  });

  it("a look without news is one conditional request, and makes nothing", async () => {
    host.seen.length = 0;
    await look();
    expect(host.seen).toEqual([{ path: expect.any(String), page: 1, conditional: true, status: 304 }]);
    expect(await list()).toEqual([named(7)]);
  });

  it("a push is built once, and a closed one is removed", { timeout: 60_000 }, async () => {
    const next = await repository.commit(quickProject("again"), "Again", branch);
    host.open = [{ number: 7, branch, sha: next, updatedAt: ago(0) }];
    await look();
    await look();
    const { body } = await plane.call<{ resources: Preview[] }>("GET", "/v2/deployments");
    const preview = body.resources.find((each) => each.is_preview)!;
    const revisions = await plane.call<{ resources: unknown[] }>(
      "GET",
      `/v2/deployments/${preview.id}/revisions`,
    );
    expect(revisions.body.resources).toHaveLength(2);
    expect((await revisionDone(plane, preview.id, preview.latest_revision_id!)).status).toBe("DEPLOYED");
    host.open = [];
    await look();
    expect(await list()).toEqual([]);
  });

  it("of more than ten the latest get previews; the others when there is room", {
    timeout: 60_000,
  }, async () => {
    host.open = Array.from({ length: 12 }, (_, index) => ({
      ...{ number: 100 + index, branch, sha, updatedAt: ago(index / 100) },
    }));
    await look();
    expect(await list()).toHaveLength(10);
    expect(await list()).not.toContain(named(111));
    host.open = host.open.filter(({ number }) => number !== 100 && number !== 101);
    await look();
    expect(await list()).toContain(named(111));
    expect(await list()).not.toContain(named(100));
  });

  it("previews that were turned off and on again are made again, though the host has no news", async () => {
    await turn(parent.id, { enabled: false });
    await job("control_plane.maintain");
    expect(await list()).toEqual([]);
    await turn(parent.id, { enabled: true });
    await look();
    expect(await list()).toHaveLength(10);
    await turn(parent.id, { enabled: false });
    await job("control_plane.maintain");
  });
});

describe("previews of pull requests that go on", { timeout: 60_000 }, () => {
  let parent: DeploymentBody;
  let sha: string;
  beforeAll(async () => {
    parent = await deployed("life", host.githubUrl);
    sha = await repository.commit(quickProject("life"), "Life", "life");
    await turn(parent.id, { enabled: true });
  }, 120_000);

  it("end after 14 days without a change, and come back with the next one", async () => {
    host.open = [{ number: 7, branch: "life", sha, updatedAt: ago(13.9) }];
    await look();
    await job("control_plane.maintain");
    expect(await list()).toEqual(["life-pr-7-life"]);
    // As if the days had passed: at the host and here.
    host.open = [{ number: 7, branch: "life", sha, updatedAt: ago(14.1) }];
    await site.database.database.query(
      { name: "test_aged", text: "update deployments set preview_seen_at = $1 where preview_of = $2" },
      [ago(14.1), parent.id],
    );
    await job("control_plane.maintain");
    expect(await list()).toEqual([]);
    await look();
    expect(await list()).toEqual([]);
    host.open = [{ number: 7, branch: "life", sha, updatedAt: ago(0) }];
    await look();
    expect(await list()).toEqual(["life-pr-7-life"]);
  });

  it("are looked for on more pages, up to those nobody touched for 14 days, and never without end", async () => {
    const many = (count: number, days: (index: number) => number) =>
      Array.from({ length: count }, (_, index) => ({
        ...{ number: 1000 + index, branch: "life", sha, updatedAt: ago(days(index)), fork: true },
      }));
    const seven = { number: 7, branch: "life", sha, updatedAt: ago(5) };
    host.open = [...many(150, (index) => index / 1000), seven, ...many(500, () => 20)];
    host.seen.length = 0;
    await look();
    expect(host.seen.map(({ page }) => page)).toEqual([1, 2]);
    expect(await list()).toEqual(["life-pr-7-life"]);
    // Of more than can be looked at, what is not among them is not taken for closed.
    host.open = many(700, (index) => index / 1000);
    host.seen.length = 0;
    await look();
    expect(host.seen.map(({ page }) => page)).toEqual([1, 2, 3, 4, 5]);
    expect(await list()).toEqual(["life-pr-7-life"]);
    host.open = [];
    await look();
    expect(await list()).toEqual([]);
  });
});

describe("treadle deployments previews", { timeout: 60_000 }, () => {
  it("turns them on and off, and says what they get", async () => {
    const client = createClient(site.folder.path, { TREADLE_URL: plane.url, TREADLE_API_KEY: plane.apiKey });
    const off = await client.run(["deployments", "previews", "life", "off"]);
    expect(off).toMatchObject({ code: 0, stdout: expect.stringContaining("get no previews") });
    const on = await client.run(["deployments", "previews", "life", "on", "--share-secrets"]);
    expect(on).toMatchObject({ code: 0, stdout: expect.stringContaining("with its secrets") });
    const bare = await client.json(["deployments", "previews", "life", "on"]);
    expect(bare).toMatchObject({ previews: { enabled: true, share_secrets: false } });
    expect((await client.run(["deployments", "previews", "life", "maybe"])).code).toBe(2);
    const unknown = await client.run(["deployments", "previews", "lief", "on"]);
    expect(unknown).toMatchObject({ code: 14, stderr: expect.stringContaining("Did you mean life?") });
  });
});

describe("a host that refuses", () => {
  type Refusal = { status: number; headers?: Record<string, string> };
  it.each<[string, Refusal, number]>([
    ["a limit of requests", { status: 403, headers: { "x-ratelimit-remaining": "0" } }, 3_000],
    ["too many requests", { status: 429, headers: { "retry-after": "1800" } }, 1_800],
    ["a wrong token", { status: 401 }, 60],
    ["an error of its own", { status: 502 }, 60],
  ])("%s is left alone for as long as it asks, and longer each time", async (_what, refusal, seconds) => {
    const { database } = site.database;
    let now = new Date();
    const clock = { ...systemClock, now: () => now };
    const secretBox = new SecretBox({ currentKey: "a secret key for tests only" });
    const ground = { database, clock, logger: createLogger({ level: "silent" }), secretBox };
    const api = new GitHostApi(new NetworkGuard({ allowPrivateAddresses: true }));
    const none = async () => [];
    const integrations = new IntegrationService({ ...ground, host: api, onPush: none, onPullRequest: none });
    const revisions = new RevisionMaker({ clock, secretBox });
    const previews = new PreviewService({ ...ground, revisions, purgeAfterMs: 1_000 });
    const poll = new PullRequestPoll({ ...ground, host: api, integrations, previews });
    const asked = async () => {
      host.seen.length = 0;
      await poll.poll(new AbortController().signal);
      return host.seen.map(({ status }) => status);
    };
    const later = (by: number) => {
      now = new Date(now.getTime() + by * 1000);
    };
    const reset = String(Math.ceil(now.getTime() / 1000) + seconds);
    const answer = { ...refusal, headers: { ...refusal.headers, "x-ratelimit-reset": reset } };
    host.refusals.push(answer, { status: refusal.status });
    expect(await asked()).toEqual([refusal.status]);
    later(seconds - 5);
    expect(await asked()).toEqual([]);
    later(10);
    expect(await asked()).toEqual([refusal.status]);
    later(100);
    expect(await asked()).toEqual([]);
    later(30);
    expect(await asked()).toEqual([200]);
    expect(await asked()).toEqual([304]);
  });
});
