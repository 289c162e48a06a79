import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

type Health = { state: string; message: string | null; attempt: number; since: string | null };
type WithHealth = DeploymentBody & { health: Health };

let site: DeploymentSite;
let plane: DeploymentSite["plane"];
let git: DeploymentSite["git"];
let database: DeploymentSite["database"];

beforeAll(async () => {
  site = await startDeploymentSite("health", { settings: { bakeMs: 200, drainMs: 2_000 } });
  ({ plane, git, database } = site);
});

afterAll(async () => {
  await site?.stop();
});

async function make(name: string, files: Record<string, string> = {}) {
  const repository = await git.createRepository(name, quickProject(name, files));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  const { deployment, revision } = await deploy(
    plane,
    gitDeployment(name, repository.url, { source_config }),
  );
  expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
  return { repository, deployment, revision };
}

const healthOf = async (id: string) =>
  (await plane.call<WithHealth>("GET", `/v2/deployments/${id}`)).body.health;

/** Ends at every start, once somebody has broken it. */
const fragile = `import { existsSync, writeFileSync } from "node:fs";
import { Hono } from "hono";
const mark = process.env.HOME + "/broken";
if (existsSync(mark)) { console.error("the teapot has no lid"); process.exit(9); }
export const app = new Hono();
app.get("/version", (c) => c.json({ answer: "fragile" }));
app.post("/break", (c) => { writeFileSync(mark, ""); setTimeout(() => process.exit(9), 20); return c.text("broken"); });
`;

describe("a server that keeps dying", () => {
  it("is started at growing intervals, marked, explained, and replaced by one that works", {
    timeout: 300_000,
  }, async () => {
    const { repository, deployment, revision } = await make("fragile", { "app.js": fragile });
    expect(await healthOf(deployment.id)).toMatchObject({ state: "serving", message: null, attempt: 1 });
    await fetch(`${deployment.url}/break`, { method: "POST" });
    const health = await waitUntil(
      async () => {
        const now = await healthOf(deployment.id);
        return now.state === "crash_loop" && now.message?.startsWith("Crash loop") ? now : undefined;
      },
      { what: "the crash loop to be marked", timeoutMs: 120_000, intervalMs: 200 },
    );
    // Four deaths; the fifth start is being made or is under way.
    expect(health.attempt).toBeGreaterThanOrEqual(4);
    expect(health.message).toContain("the teapot has no lid");
    const refused = await fetch(`${deployment.url}/version`);
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("2");
    expect(await refused.text()).toMatch(/crash loop/);
    const path = `/v2/deployments/${deployment.id}/revisions/${revision.id}`;
    const { body } = await plane.call<RevisionBody>("GET", path);
    expect(body.status_message).toContain("the teapot has no lid");
    const kinds = body.events.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "restart").length).toBe(3);
    expect(kinds).toContain("crash_loop");
    const starts = await database.database.query<{ started: Date; ended: Date | null }>(
      {
        name: "test_starts",
        text: "select started_at as started, exited_at as ended from deployment_instances where deployment_id = $1 order by started_at",
      },
      [deployment.id],
    );
    const waits = starts
      .slice(1)
      .map(({ started }, index) => started.getTime() - starts[index]!.ended!.getTime());
    // Half a second, then twice as long each time.
    for (const [index, wait] of waits.entries()) expect(wait).toBeGreaterThanOrEqual(500 * 2 ** index - 50);
    await repository.commit(quickProject("mended"), "Mended");
    const patched = await plane.call<DeploymentBody>("PATCH", `/v2/deployments/${deployment.id}`, {
      source_revision_config: { repo_ref: "main" },
    });
    const next = await revisionDone(plane, deployment.id, patched.body.latest_revision_id!);
    expect(next.status).toBe("DEPLOYED");
    expect(await (await fetch(`${deployment.url}/version`)).json()).toMatchObject({ answer: "mended" });
    expect(await healthOf(deployment.id)).toMatchObject({ state: "serving", attempt: 1 });
  });
});

/** Dies once somebody asked it to, and then lives. */
const stumbling = `import { Hono } from "hono";
export const app = new Hono();
app.get("/version", (c) => c.json({ answer: "stumbling" }));
app.post("/die", (c) => { setTimeout(() => process.exit(9), 20); return c.text("dying"); });
`;

describe("a server that died after it was deployed and serves again", () => {
  it("says so on the deployment and on the revision", { timeout: 120_000 }, async () => {
    const { deployment, revision } = await make("stumbling", { "app.js": stumbling });
    const path = `/v2/deployments/${deployment.id}/revisions/${revision.id}`;
    expect((await plane.call("GET", path)).body).toMatchObject({ restarts: 0, last_exit: null });
    await fetch(`${deployment.url}/die`, { method: "POST" });
    const health = await waitUntil(
      async () => {
        const now = await healthOf(deployment.id);
        return now.state === "unstable" ? now : undefined;
      },
      { what: "it to serve again", timeoutMs: 60_000, intervalMs: 100 },
    );
    expect(await (await fetch(`${deployment.url}/version`)).json()).toMatchObject({ answer: "stumbling" });
    const last_exit = { at: expect.any(String), kind: "exit_code", reason: "exit code 9" };
    expect(health).toMatchObject({ restarts: 1, last_exit, message: expect.stringContaining("exit code 9") });
    expect((await plane.call("GET", path)).body).toMatchObject({
      status: "DEPLOYED",
      restarts: 1,
      last_exit,
    });
  });
});

describe("what a server says", () => {
  it("is followed as it is written, found by its words, and taken up again after a break", {
    timeout: 90_000,
  }, async () => {
    const chatty = `import { Hono } from "hono";
export const app = new Hono();
app.post("/say/:text", (c) => { console.log(c.req.param("text")); return c.text("said"); });
`;
    const { deployment } = await make("chatty", { "app.js": chatty });
    const say = (text: string) => fetch(`${deployment.url}/say/${text}`, { method: "POST" });
    const path = `${plane.url}/v2/deployments/${deployment.id}/logs/stream`;
    const headers = { "x-api-key": plane.apiKey, "x-tenant-id": plane.workspaceId };
    const listen = async (query: string, lastEventId?: string) => {
      const stop = new AbortController();
      const response = await fetch(`${path}?${query}`, {
        headers: { ...headers, ...(lastEventId ? { "last-event-id": lastEventId } : {}) },
        signal: stop.signal,
      });
      expect(response.status).toBe(200);
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      return {
        async until(wanted: string): Promise<string> {
          while (!text.includes(wanted)) text += (await reader.read()).value ?? "";
          return text;
        },
        stop: () => stop.abort(),
      };
    };
    await say("before-1");
    await waitUntil(
      async () => {
        const logs = await plane.call("GET", `/v2/deployments/${deployment.id}/logs?query=before`);
        return JSON.stringify(logs.body).includes("before-1") || undefined;
      },
      { what: "the first line", timeoutMs: 20_000, intervalMs: 100 },
    );
    const first = await listen("tail=100");
    await first.until("before-1");
    await say("while-2");
    const seen = await first.until("while-2");
    first.stop();
    const lastId = [...seen.matchAll(/^id: (\d+)$/gm)].at(-1)![1]!;
    await say("away-3");
    await say("other-4");
    const second = await listen("query=-", lastId);
    const text = await second.until("other-4");
    second.stop();
    expect(text).toContain("away-3");
    expect(text).not.toContain("while-2");
    const filtered = await listen("query=AWAY&tail=50");
    expect(await filtered.until("away-3")).not.toContain("other-4");
    filtered.stop();
    const other = await fetch(
      `${plane.url}/v2/deployments/00000000-0000-4000-8000-000000000001/logs/stream`,
      {
        headers,
      },
    );
    expect(other.status).toBe(404);
  });
});

describe("what a deployment uses", () => {
  type Metrics = {
    restarts: number;
    instances: { state: string; in_flight: number; revision_id: string }[];
    points: {
      cpu: number | null;
      memory_bytes: number | null;
      requests: number;
      errors: number;
      mean_ms: number;
    }[];
  };
  const metricsOf = async (id: string, query = "") =>
    (await plane.call<Metrics>("GET", `/v2/deployments/${id}/metrics${query}`)).body;

  it("is counted and looked at: requests, errors, memory, restarts", { timeout: 90_000 }, async () => {
    const failing = `import { Hono } from "hono";
export const app = new Hono();
app.get("/version", (c) => c.json({ answer: "measured" }));
app.get("/fail", (c) => c.text("no", 500));
app.post("/die", (c) => { setTimeout(() => process.exit(7), 20); return c.text("dying"); });
`;
    const { deployment, revision } = await make("measured", { "app.js": failing });
    for (let index = 0; index < 5; index += 1) await fetch(`${deployment.url}/version`);
    await fetch(`${deployment.url}/fail`);
    const metrics = await metricsOf(deployment.id, "?step_seconds=3600");
    const sum = (name: "requests" | "errors") => metrics.points.reduce((all, point) => all + point[name], 0);
    expect([sum("requests"), sum("errors")]).toEqual([6, 1]);
    expect(Math.max(...metrics.points.map((point) => point.memory_bytes ?? 0))).toBeGreaterThan(20_000_000);
    expect(metrics.instances).toMatchObject([{ state: "ready", in_flight: 0, revision_id: revision.id }]);
    expect(metrics.restarts).toBe(0);
    await fetch(`${deployment.url}/die`, { method: "POST" });
    await waitUntil(async () => (await healthOf(deployment.id)).attempt === 2 || undefined, {
      what: "the restart",
      timeoutMs: 30_000,
      intervalMs: 100,
    });
    expect((await metricsOf(deployment.id)).restarts).toBe(1);
  });

  it("is refused where the question makes no sense", async () => {
    const { body } = await plane.call<{ resources: DeploymentBody[] }>("GET", "/v2/deployments?limit=1");
    const path = `/v2/deployments/${body.resources[0]!.id}/metrics`;
    const many = `${path}?start_time=2020-01-01T00:00:00Z&end_time=2024-01-01T00:00:00Z&step_seconds=10`;
    expect((await plane.call("GET", many)).status).toBe(422);
    expect((await plane.call("GET", `${path}?start_time=2030-01-01T00:00:00Z`)).status).toBe(422);
    const unknown = "/v2/deployments/00000000-0000-4000-8000-000000000001/metrics";
    expect((await plane.call("GET", unknown)).status).toBe(404);
  });
});
