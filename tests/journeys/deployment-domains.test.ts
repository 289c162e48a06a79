import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type DnsServer, startDnsServer } from "../support/components/dns-server.ts";
import { type ChildProcess, spawnProcess } from "../support/components/process.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type GatewaySite, startGatewaySite } from "../support/gateway-site.ts";
import { askByHost } from "../support/host-request.ts";
import { createMappedFetch, lookupHere } from "../support/mapped-fetch.ts";

/** A real deployment at a domain of its own, with the clients people have. */
const child = fileURLToPath(new URL("../support/control-plane-child.ts", import.meta.url));
const host = "agent.example.com";

type DomainBody = { state: string; url: string; record: { name: string; value: string } };

let dns: DnsServer;
let gateway: GatewaySite;
let plane: GatewaySite["plane"];
let url: string;
let keyed: Record<string, string>;
let http: ReturnType<typeof createMappedFetch>;
const children: ChildProcess[] = [];

beforeAll(async () => {
  dns = await startDnsServer();
  gateway = await startGatewaySite({ settings: { dnsServers: [dns.address] } });
  ({ plane } = gateway);
  keyed = { "x-api-key": plane.apiKey, "x-tenant-id": plane.workspaceId };
  http = createMappedFetch();
  url = await give(gateway.plain.id, host);
}, 120_000);

afterAll(async () => {
  for (const each of children) await each.kill();
  await http?.close();
  await gateway?.site.stop();
  await dns?.stop();
});

async function give(deploymentId: string, domain: string): Promise<string> {
  const place = `/v2/deployments/${deploymentId}/domains`;
  const { body } = await plane.call<DomainBody>("POST", place, { domain });
  dns.records.set(body.record.name, [body.record.value]);
  const checked = await plane.call<DomainBody>("POST", `${place}/${domain}/verify`);
  expect(checked.body.state).toBe("verified");
  return checked.body.url;
}

const get = (path: string, init: RequestInit = {}) =>
  http.fetch(`${url}${path}`, { ...init, headers: { ...keyed, ...init.headers } });

describe("a deployment at its domain", () => {
  it("is reached at the root by the SDK, streams included", async () => {
    const client = new Client({ apiUrl: url, defaultHeaders: keyed, callerOptions: { fetch: http.fetch } });
    const thread = await client.threads.create();
    const modes: string[] = [];
    let last: unknown;
    const input = { messages: [{ role: "user", content: "hello" }] };
    for await (const part of client.runs.stream(thread.thread_id, "echo", { input, streamMode: "values" })) {
      modes.push(part.event);
      last = part.data;
    }
    expect(modes).toContain("metadata");
    expect(JSON.stringify(last)).toContain("plain");
    // The same threads as under the platform's address.
    const under = new Client({ apiUrl: gateway.plain.url, defaultHeaders: keyed });
    expect((await under.threads.get(thread.thread_id)).thread_id).toBe(thread.thread_id);
  });

  it("knows by which address it was asked", async () => {
    const headers = (await (await get("/headers")).json()) as Record<string, string>;
    expect(headers).toMatchObject({
      "x-forwarded-host": new URL(url).host,
      "x-forwarded-proto": "http",
    });
    expect(headers["x-forwarded-prefix"]).toBeUndefined();
    expect(JSON.stringify(headers)).not.toContain(plane.apiKey);
    const redirect = await get("/redirect", { redirect: "manual" });
    expect(redirect.headers.get("location")).toBe("/query?x=1");
    const card = (await (await get("/.well-known/agent-card.json?assistant_id=echo")).json()) as {
      url: string;
    };
    expect(card.url).toMatch(new RegExp(`^${url}/a2a/`));
    const under = await gateway.get("/.well-known/agent-card.json?assistant_id=echo");
    expect(((await under.json()) as { url: string }).url).toMatch(new RegExp(`^${gateway.plain.url}/a2a/`));
    expect((await get("/docs")).status).toBe(200);
    const document = (await (await get("/openapi.json")).json()) as { servers?: unknown };
    // Relative to wherever it was read.
    expect(document.servers).toBeUndefined();
  });

  it("speaks MCP there", async () => {
    const answer = await get("/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("echo")]);
  });

  it("takes WebSockets there, with a key alone", async () => {
    const made = await get("/threads", {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json" },
    });
    const { thread_id } = (await made.json()) as { thread_id: string };
    const status = (headers: Record<string, string>) =>
      new Promise<number>((resolve) => {
        const address = `${url.replace("http", "ws")}/threads/${thread_id}/stream`;
        const socket = new WebSocket(address, { headers, lookup: lookupHere });
        socket.once("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0));
        socket.once("error", () => undefined);
        socket.once("open", () => {
          socket.close();
          resolve(101);
        });
      });
    expect(await status({})).toBe(401);
    expect(await status(keyed)).toBe(101);
  });

  it("asks for the same credential as under /d, and keeps other workspaces out", async () => {
    expect((await http.fetch(`${url}/headers`)).status).toBe(401);
    const { body: other } = await plane.call<{ id: string }>("POST", "/v2/workspaces", { name: "Other" });
    expect((await get("/headers", { headers: { "x-tenant-id": other.id } })).status).toBe(404);
    // A project with its own authentication decides for itself.
    const guarded = await give(gateway.guarded.id, "guarded.example.com");
    const ask = (authorization: string) =>
      http.fetch(`${guarded}/assistants/search`, {
        ...{ method: "POST", body: "{}" },
        headers: { authorization, "content-type": "application/json" },
      });
    expect([(await ask("Bearer nobody")).status, (await ask("Bearer somebody")).status]).toEqual([401, 200]);
  });

  it("has none of the platform's routes there, and unknown hosts have nothing of it", async () => {
    expect((await get("/v2/deployments")).status).toBe(404);
    expect((await get(`/d/${gateway.plain.slug}/headers`)).status).toBe(404);
    const unknown = await askByHost(plane.url, "unknown.example.com", "/headers", { headers: keyed });
    expect(unknown.status).toBe(404);
    expect(unknown.text).not.toContain("x-forwarded-host");
  });
});

describe("another process of the platform", () => {
  const start = async () => {
    const options = {
      ...{ databaseUrl: gateway.database.url, folder: gateway.site.folder.path },
      ...{ apiKey: plane.apiKey, workspaceId: plane.workspaceId, agentAuthRequired: true },
      settings: { dnsServers: [dns.address] },
    };
    const started = spawnProcess(process.execPath, [child, JSON.stringify(options)], { name: "second" });
    children.push(started);
    return { process: started, url: (await started.waitForLine(/^ready /)).slice("ready ".length) };
  };
  const serves = async (at: string, domain: string) =>
    (await askByHost(at, domain, "/headers", { headers: keyed })).status === 200;

  it("serves the same domains, learns of changes, and knows them after a restart", {
    timeout: 60_000,
  }, async () => {
    const second = await start();
    expect(await serves(second.url, host)).toBe(true);
    const domain = `${randomUUID()}.example.com`;
    expect(await serves(second.url, domain)).toBe(false);
    await give(gateway.plain.id, domain);
    await waitUntil(() => serves(second.url, domain), {
      timeoutMs: 5_000,
      what: "the notice of a new domain",
    });
    second.process.signal("SIGKILL");
    await second.process.waitExit();
    const third = await start();
    expect(await serves(third.url, domain)).toBe(true);
    const place = `/v2/deployments/${gateway.plain.id}/domains/${domain}`;
    expect((await plane.call("DELETE", place)).status).toBe(204);
    expect(await serves(plane.url, domain)).toBe(false);
    await waitUntil(async () => !(await serves(third.url, domain)), {
      ...{ timeoutMs: 5_000, what: "the notice of a removed domain" },
    });
  });
});
