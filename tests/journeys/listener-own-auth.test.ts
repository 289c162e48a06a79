import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { freePort } from "../support/components/free-port.ts";
import { deploy, gitDeployment } from "../support/deployments.ts";
import { ListenerSite } from "../support/listener-site.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 240_000 });

/** Lets everybody in, and says what it saw. */
const project = quickProject("own", {
  "auth.js": `import { Auth } from "@langchain/langgraph-sdk/auth";
export const auth = new Auth().authenticate(async () => ({ identity: "anybody", permissions: [] }));
`,
  "app.js": `import { Hono } from "hono";
export const app = new Hono();
app.get("/headers", (c) => c.json(Object.fromEntries(c.req.raw.headers)));
`,
  "langgraph.json": JSON.stringify({
    ...{ graphs: { echo: "./graph.js:graph" }, http: { app: "./app.js:app" } },
    auth: { path: "./auth.js:auth" },
  }),
});

let site: ListenerSite;
let url: string;
let workspaceId: string;
beforeAll(async () => {
  site = await ListenerSite.prepare();
  const { body: listener } = await site.call<{ id: string }>("POST", "/v2/listeners", {
    ...{ compute_type: "process", compute_id: "elsewhere", compute_config: {} },
  });
  const { body: made } = await site.call<{ key: string }>("POST", "/v2/api-keys", {
    ...{ name: "listener", service: true, scopes: ["listener"] },
  });
  const port = await freePort();
  await site.startListener({ id: listener.id, key: made.key, port });
  const repository = await site.git.createRepository("own", project);
  const source_config = {
    ...{ repo_url: repository.url, install_command: quickInstall, listener_id: listener.id },
  };
  const { deployment, revision } = await deploy(
    site.calls,
    gitDeployment("own", repository.url, { source_config }),
  );
  expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
  url = `http://127.0.0.1:${port}/d/${deployment.slug}`;
  workspaceId = site.platform!.ready.workspace_id;
});
afterAll(() => site?.stop());

const ask = (headers: Record<string, string>) => fetch(`${url}/headers`, { headers });
const seen = async (headers: Record<string, string>) =>
  (await (await ask(headers)).json()) as Record<string, string>;

test("a key that the platform's operator chose reaches no project at its first use", async () => {
  expect(site.apiKey).not.toMatch(/^trk_/);
  for (const headers of [{ "x-api-key": site.apiKey }, { authorization: `Bearer ${site.apiKey}` }] as Record<
    string,
    string
  >[]) {
    const text = JSON.stringify(await seen({ ...headers, "x-tenant-id": workspaceId }));
    expect(text).toContain("x-forwarded-for");
    expect(text).not.toContain(site.apiKey);
    expect(text).not.toContain(workspaceId);
  }
});

test("the project's own tokens reach it, and while the platform is away those that are known to be no keys", async () => {
  const own = { authorization: "Bearer a-token-of-the-project", "x-api-key": "a-key-of-the-project" };
  expect(await seen(own)).toMatchObject(own);
  await site.platform!.stop();
  try {
    expect(await seen(own)).toMatchObject(own);
    expect(JSON.stringify(await seen({ "x-api-key": site.apiKey }))).not.toContain(site.apiKey);
    // It could be a key, and nobody can say.
    const refused = await ask({ "x-api-key": "another-key-of-whomever" });
    expect([refused.status, refused.headers.get("x-error-code")]).toEqual([503, "listener.platform_away"]);
  } finally {
    await site.startPlatform();
  }
});
