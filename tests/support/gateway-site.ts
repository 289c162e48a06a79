import { expect } from "vitest";
import { type DeploymentSiteOptions, startDeploymentSite } from "./deployment-site.ts";
import { deploy, gitDeployment } from "./deployments.ts";
import { quickInstall, quickProject } from "./quick-project.ts";

const app = `import { Hono } from "hono";
export const app = new Hono();
let left = 0;
app.get("/user", (c) => c.json({ uid: process.getuid() }));
app.get("/environment", (c) => c.json(process.env));
app.get("/left", (c) => c.json({ left }));
app.get("/headers", (c) => c.json(Object.fromEntries(c.req.raw.headers)));
app.get("/query", (c) => c.text(new URL(c.req.url).search));
app.get("/redirect", (c) => c.redirect("/query?x=1"));
app.get("/cookies", (c) => { c.header("set-cookie", "a=1", { append: true }); c.header("set-cookie", "b=2", { append: true }); return c.text("ok"); });
app.get("/teapot", (c) => c.text("short and stout", 418));
app.post("/echo", async (c) => c.body(await c.req.arrayBuffer()));
app.get("/endless", (c) => {
  const body = new ReadableStream({
    start(controller) { controller.enqueue(new TextEncoder().encode("data: first\\n\\n")); },
    cancel() { left += 1; },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
});
`;
const auth = `import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth";
export const auth = new Auth().authenticate(async (request) => {
  const user = request.headers.get("authorization")?.replace("Bearer ", "");
  if (user !== "somebody") throw new HTTPException(401, { message: "who are you?" });
  return { identity: user, permissions: [] };
});
`;

/** A keyed platform with two deployments: one that leaves access to the platform, one with its own authentication. */
export async function startGatewaySite(options: DeploymentSiteOptions = {}) {
  const site = await startDeploymentSite("gateway", {
    ...{ folderMode: 0o711, agentAuthRequired: true },
    ...options,
  });
  const { plane, git, database } = site;
  const make = async (name: string, files: Record<string, string>) => {
    const repository = await git.createRepository(name, quickProject(name, files));
    const source_config = { repo_url: repository.url, install_command: quickInstall };
    const { deployment, revision } = await deploy(
      plane,
      gitDeployment(name, repository.url, { source_config }),
    );
    expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    return deployment;
  };
  const plain = await make("plain", { "app.js": app });
  const guarded = await make("guarded", {
    "auth.js": auth,
    "langgraph.json": JSON.stringify({
      graphs: { echo: "./graph.js:graph" },
      auth: { path: "./auth.js:auth" },
      http: { app: "./app.js:app", cors: { allow_origins: ["https://app.example.com"] } },
    }),
    "app.js": app,
  });
  /** Of the first, with a key. */
  const get = (path: string, init: RequestInit = {}) =>
    fetch(`${plain.url}${path}`, {
      ...init,
      headers: { "x-api-key": plane.apiKey, "x-tenant-id": plane.workspaceId, ...init.headers },
    });
  return { site, plane, database, plain, guarded, get };
}

export type GatewaySite = Awaited<ReturnType<typeof startGatewaySite>>;
