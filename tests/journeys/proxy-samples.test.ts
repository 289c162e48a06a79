import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type DnsServer, startDnsServer } from "../support/components/dns-server.ts";
import { startCaddy, startNginx, type TlsProxy } from "../support/components/proxies.ts";
import { type GatewaySite, startGatewaySite } from "../support/gateway-site.ts";
import { createMappedFetch, lookupHere } from "../support/mapped-fetch.ts";

/** The samples of docs/deploy.md, as they stand there, in front of a platform with a deployment at a domain. */
const host = "agent.example.com";
const platformHost = "treadle.example.com";

type DomainBody = { state: string; record: { name: string; value: string } };

let dns: DnsServer;
let gateway: GatewaySite;
let keyed: Record<string, string>;
let samples: string[];

beforeAll(async () => {
  const text = await readFile(fileURLToPath(new URL("../../docs/deploy.md", import.meta.url)), "utf8");
  dns = await startDnsServer();
  gateway = await startGatewaySite({ settings: { dnsServers: [dns.address] } });
  const { plane, plain } = gateway;
  const { host: upstream } = new URL(plane.url);
  samples = [...text.matchAll(/^```\w*\n(.*?)^```$/gms)].map(([, sample]) =>
    sample!.replaceAll("127.0.0.1:8124", upstream),
  );
  keyed = { "x-api-key": plane.apiKey, "x-tenant-id": plane.workspaceId };
  const place = `/v2/deployments/${plain.id}/domains`;
  const { body } = await plane.call<DomainBody>("POST", place, { domain: host });
  dns.records.set(body.record.name, [body.record.value]);
  const checked = await plane.call<DomainBody>("POST", `${place}/${host}/verify`);
  expect(checked.body.state).toBe("verified");
}, 180_000);

afterAll(async () => {
  await gateway?.site.stop();
  await dns?.stop();
});

/** The only sample that contains these words. */
function sample(...words: string[]): string {
  const found = samples.filter((each) => words.every((word) => each.includes(word)));
  expect(found).toHaveLength(1);
  return found[0]!;
}

async function startDocumentedCaddy(): Promise<TlsProxy> {
  const onDemand = sample("on_demand_tls");
  // Global options are one block: the rest of it belongs to the test.
  const [, globalOptions, site] = /^\{\n(.*?)^\}\n(.*)$/ms.exec(onDemand)!;
  return startCaddy({ globalOptions: globalOptions!, sites: [site!, sample(`${platformHost} {`)] });
}

const startDocumentedNginx = () =>
  startNginx({
    http: [sample("map $http_upgrade", `server_name ${platformHost}`), sample(`server_name ${host}`)],
    names: [`treadle=${platformHost}`, `${host}=${host}`],
  });

describe.each([
  { name: "Caddy", start: startDocumentedCaddy },
  { name: "nginx", start: startDocumentedNginx },
])("the samples for $name", ({ name, start }) => {
  let proxy: TlsProxy;
  let http: ReturnType<typeof createMappedFetch>;
  beforeAll(async () => {
    proxy = await start();
    http = createMappedFetch(proxy.ca);
  }, 600_000);
  afterAll(async () => {
    await http?.close();
    await proxy?.stop();
  });

  const at = (domain: string) => `https://${domain}:${proxy.port}`;
  const get = (path: string, init: RequestInit = {}) =>
    http.fetch(`${at(host)}${path}`, { ...init, headers: { ...keyed, ...init.headers } });

  it("serve the deployment at its domain, with its own host", async () => {
    const headers = (await (await get("/headers")).json()) as Record<string, string>;
    expect(headers["x-forwarded-host"]).toMatch(new RegExp(`^${host}(:${proxy.port})?$`));
  });

  it("serve the platform at its own host", async () => {
    const answer = await http.fetch(`${at(platformHost)}/v2/deployments`, { headers: keyed });
    const { resources } = (await answer.json()) as { resources: { name: string }[] };
    expect(resources.map((each) => each.name)).toContain("plain");
  });

  it("pass a stream on while it runs, to the SDK too", async () => {
    const endless = await get("/endless");
    const reader = endless.body!.getReader();
    const { value } = await reader.read();
    expect(Buffer.from(value!).toString()).toBe("data: first\n\n");
    await reader.cancel();
    const client = new Client({
      apiUrl: at(host),
      defaultHeaders: keyed,
      callerOptions: { fetch: http.fetch },
    });
    const thread = await client.threads.create();
    const input = { messages: [{ role: "user", content: "hello" }] };
    const events: string[] = [];
    for await (const { event } of client.runs.stream(thread.thread_id, "echo", {
      input,
      streamMode: "values",
    }))
      events.push(event);
    expect(events).toEqual(expect.arrayContaining(["metadata", "values"]));
  });

  it("take a body of three megabytes", async () => {
    const body = Buffer.alloc(3_000_000, "x");
    const answer = await get("/echo", { method: "POST", body });
    expect([answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([200, body.length]);
  });

  it("pass WebSockets on", async () => {
    const made = await get("/threads", {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json" },
    });
    const { thread_id } = (await made.json()) as { thread_id: string };
    const address = `${at(host).replace("https", "wss")}/threads/${thread_id}/stream`;
    await new Promise<void>((resolve, reject) => {
      const socket = new WebSocket(address, { headers: keyed, lookup: lookupHere, ca: proxy.ca });
      socket.once("error", reject).once("open", () => {
        socket.close();
        resolve();
      });
    });
  });

  if (name === "Caddy")
    it("get no certificate for a host that is no domain, and one for a domain that was just verified", async () => {
      const { plane, plain } = gateway;
      const later = "later.example.com";
      const ask = () => http.fetch(`${at(later)}/headers`, { headers: keyed });
      await expect(ask()).rejects.toThrow();
      const place = `/v2/deployments/${plain.id}/domains`;
      const { body } = await plane.call<DomainBody>("POST", place, { domain: later });
      await expect(ask()).rejects.toThrow();
      dns.records.set(body.record.name, [body.record.value]);
      await plane.call("POST", `${place}/${later}/verify`);
      expect((await ask()).status).toBe(200);
    });
});
