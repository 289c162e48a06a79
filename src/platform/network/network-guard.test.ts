import { once } from "node:events";
import { Agent, createServer, get, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { classifyAddress } from "./network-address.ts";
import { type Address, NetworkGuard } from "./network-guard.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const v4 = (address: string): Address => ({ address, family: 4 });
const strict = new NetworkGuard({
  allowPrivateAddresses: false,
  resolve: async () => [v4("93.184.215.14")],
});
const lenient = new NetworkGuard({ allowPrivateAddresses: true, resolve: async () => [v4("127.0.0.1")] });
const refusal = { code: "network.address_refused", kind: "invalid" };

describe("addresses", () => {
  it.each(["8.8.8.8", "93.184.215.14", "2606:4700::6810:84e5", "2a00:1450:4001:80e::200e"])(
    "%s is public",
    (address) => {
      expect(classifyAddress(address)).toBe("public");
    },
  );
  it.each([
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "127.0.0.1",
    "127.9.9.9",
    "100.64.0.1",
    "::1",
    "fd12::1",
  ])("%s is private", (address) => {
    expect(classifyAddress(address)).toBe("private");
  });
  it.each([
    "0.0.0.0",
    "169.254.169.254",
    "100.100.100.200",
    "192.0.0.192",
    "224.0.0.1",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
    "198.18.0.1",
    "192.0.2.1",
    "::",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:a00:1",
    "0:0:0:0:0:ffff:7f00:1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2001:0:7f00:1::",
    "2001:db8::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "fd00:ec2::254",
    "not an address",
    "",
    "127.1",
  ])("%s is forbidden", (address) => {
    expect(classifyAddress(address)).toBe("forbidden");
  });
  it("knows the edges of the private ranges", () => {
    expect(
      ["172.15.255.255", "172.32.0.0", "11.0.0.0", "9.255.255.255", "100.128.0.0"].map(classifyAddress),
    ).toEqual(Array(5).fill("public"));
  });
});

describe("checkUrl", () => {
  it.each([
    "http://127.0.0.1/",
    "http://localhost.localdomain@127.0.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://0/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.5:9000/",
    "http://１２７.０.０.１/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://example.com/",
    "javascript:alert(1)",
    "//example.com",
    "",
    "http://",
  ])("refuses %s", async (url) => {
    await expect(strict.checkUrl(url)).rejects.toMatchObject(refusal);
  });
  it("allows public names and tells their addresses", async () => {
    const checked = await strict.checkUrl("https://example.com:8443/x");
    expect([checked.hostname, checked.addresses]).toEqual(["example.com", [v4("93.184.215.14")]]);
  });
  it("refuses a name when any of its addresses is private", async () => {
    const guard = new NetworkGuard({
      allowPrivateAddresses: false,
      resolve: async () => [v4("93.184.215.14"), v4("10.0.0.1")],
    });
    await expect(guard.checkUrl("https://example.com")).rejects.toMatchObject(refusal);
  });
  it("allows private addresses where the operator does, but never metadata", async () => {
    await expect(lenient.checkUrl("http://10.0.0.5:9000")).resolves.toBeDefined();
    await expect(lenient.checkUrl("http://[::1]:9000")).resolves.toBeDefined();
    await expect(lenient.checkUrl("http://169.254.169.254")).rejects.toMatchObject(refusal);
    await expect(lenient.checkUrl("http://[fe80::1]")).rejects.toMatchObject(refusal);
  });
  it("says when a name is unknown", async () => {
    const guard = new NetworkGuard({
      allowPrivateAddresses: false,
      resolve: () => Promise.reject(new Error("ENOTFOUND")),
    });
    await expect(guard.checkUrl("https://nowhere.example")).rejects.toMatchObject({
      code: "network.name_unknown",
      message: expect.stringContaining("nowhere.example"),
    });
    const none = new NetworkGuard({ allowPrivateAddresses: false, resolve: async () => [] });
    await expect(none.checkUrl("https://nowhere.example")).rejects.toMatchObject({
      code: "network.name_unknown",
    });
  });
  it("uses the system's resolver by default", async () => {
    const guard = new NetworkGuard({ allowPrivateAddresses: false });
    await expect(guard.checkUrl("http://localhost:1")).rejects.toMatchObject(refusal);
  });
});

describe("guardedFetch", () => {
  it("connects to the address that was checked, under the name that was asked for", async () => {
    const port = await serve((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk) => chunks.push(chunk));
      incoming.on("end", () => {
        outgoing.setHeader("content-type", "application/json");
        outgoing.end(
          JSON.stringify({
            host: incoming.headers.host,
            method: incoming.method,
            url: incoming.url,
            extra: incoming.headers["x-extra"],
            body: Buffer.concat(chunks).toString(),
          }),
        );
      });
    });
    const response = await lenient.guardedFetch(`http://api.example:${port}/p?q=1`, {
      method: "POST",
      headers: { "x-extra": "1" },
      body: "héllo",
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      host: `api.example:${port}`,
      method: "POST",
      url: "/p?q=1",
      extra: "1",
      body: "héllo",
    });
  });
  it("cannot be rebound: the name is looked up once per request", async () => {
    const port = await serve((_incoming, outgoing) => outgoing.end("inside"));
    let lookups = 0;
    const guard = new NetworkGuard({
      allowPrivateAddresses: true,
      // The second answer would be refused as an address and nothing listens there.
      resolve: async () => {
        lookups += 1;
        return [v4(lookups === 1 ? "127.0.0.1" : "169.254.169.254")];
      },
    });
    expect(await (await guard.guardedFetch(`http://rebind.example:${port}/`)).text()).toBe("inside");
    expect(lookups).toBe(1);
  });
  it("refuses before it connects", async () => {
    let connections = 0;
    const port = await serve((_incoming, outgoing) => {
      connections += 1;
      outgoing.end();
    });
    await expect(strict.guardedFetch(`http://127.0.0.1:${port}/`)).rejects.toMatchObject(refusal);
    expect(connections).toBe(0);
  });
  it("follows redirects and drops credentials for another origin", async () => {
    const seen: [string | undefined, string | undefined, string | undefined][] = [];
    const port = await serve((incoming, outgoing) => {
      seen.push([incoming.method, incoming.url, incoming.headers.authorization]);
      if (incoming.url === "/a") outgoing.writeHead(302, { location: "/b" }).end();
      else if (incoming.url === "/b")
        outgoing.writeHead(307, { location: `http://other.example:${port}/c` }).end();
      else outgoing.end("there");
    });
    const response = await lenient.guardedFetch(`http://first.example:${port}/a`, {
      method: "POST",
      body: "x",
      headers: { authorization: "Bearer secret" },
    });
    expect(await response.text()).toBe("there");
    expect(seen).toEqual([
      ["POST", "/a", "Bearer secret"],
      ["GET", "/b", "Bearer secret"],
      ["GET", "/c", undefined],
    ]);
  });
  it.each(["http://169.254.169.254/", "file:///etc/passwd", "http://[fe80::1]/"])(
    "checks a redirect to %s again",
    async (location) => {
      const port = await serve((_incoming, outgoing) => outgoing.writeHead(302, { location }).end());
      await expect(lenient.guardedFetch(`http://127.0.0.1:${port}/`)).rejects.toMatchObject(refusal);
    },
  );
  it("stops at too many redirects, or hands them over", async () => {
    const port = await serve((_incoming, outgoing) => outgoing.writeHead(302, { location: "/again" }).end());
    await expect(lenient.guardedFetch(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({
      code: "network.too_many_redirects",
    });
    const manual = await lenient.guardedFetch(`http://127.0.0.1:${port}/`, { redirect: "manual" });
    expect([manual.status, manual.headers.get("location")]).toEqual([302, "/again"]);
  });
  it("stops at the size limit", async () => {
    const port = await serve((_incoming, outgoing) => outgoing.end(Buffer.alloc(5000)));
    const url = `http://127.0.0.1:${port}/`;
    await expect(lenient.guardedFetch(url, { maxResponseBytes: 4999 })).rejects.toMatchObject({
      code: "network.response_too_large",
      kind: "bad_gateway",
    });
    const fitting = await lenient.guardedFetch(url, { maxResponseBytes: 5000 });
    expect((await fitting.arrayBuffer()).byteLength).toBe(5000);
  });
  it("stops when the time is over, also in the middle of a body", async () => {
    const port = await serve((incoming, outgoing) => {
      if (incoming.url === "/started") outgoing.write("some");
    });
    for (const path of ["/silent", "/started"]) {
      await expect(
        lenient.guardedFetch(`http://127.0.0.1:${port}${path}`, { timeoutMs: 50 }),
      ).rejects.toMatchObject({
        code: "network.timeout",
        retryable: true,
      });
    }
  });
  it("does not wait for a resolver that never answers", async () => {
    const guard = new NetworkGuard({ allowPrivateAddresses: true, resolve: () => new Promise(() => {}) });
    await expect(guard.guardedFetch("http://slow.example/", { timeoutMs: 20 })).rejects.toMatchObject({
      code: "network.timeout",
    });
  });
  it("stops when the caller does", async () => {
    const stop = new AbortController();
    const port = await serve(() => stop.abort(new Error("changed my mind")));
    await expect(lenient.guardedFetch(`http://127.0.0.1:${port}/`, { signal: stop.signal })).rejects.toThrow(
      "changed my mind",
    );
  });
  it("says when nothing answers", async () => {
    const port = await serve((_incoming, outgoing) => outgoing.end());
    const [server] = servers.splice(0);
    server?.close();
    await expect(lenient.guardedFetch(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({
      code: "network.unreachable",
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });
  it("passes an answer without a body", async () => {
    const port = await serve((_incoming, outgoing) => outgoing.writeHead(204).end());
    const response = await lenient.guardedFetch(`http://127.0.0.1:${port}/`);
    expect([response.status, await response.text()]).toEqual([204, ""]);
  });
});

describe("lookup", () => {
  const ask = (guard: typeof strict, port: number) =>
    new Promise<number | undefined>((resolve, reject) => {
      get(`http://bucket.example:${port}/`, { agent: new Agent({ lookup: guard.lookup }) }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on("error", reject);
    });
  it("serves agents of other libraries", async () => {
    const port = await serve((_incoming, outgoing) => outgoing.end());
    expect(await ask(lenient, port)).toBe(200);
    const closed = new NetworkGuard({
      allowPrivateAddresses: false,
      resolve: async () => [v4("127.0.0.1")],
    });
    await expect(ask(closed, port)).rejects.toMatchObject(refusal);
  });
});
