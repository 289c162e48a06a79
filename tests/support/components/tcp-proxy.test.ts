import { createConnection } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HttpListener, startHttpListener } from "./http-listener.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";
import { waitUntil } from "./wait-until.ts";

describe("the TCP proxy", () => {
  let site: HttpListener;
  let proxy: TcpProxy;
  let url: string;
  beforeAll(async () => {
    site = await startHttpListener(() => (request, response) => {
      if (request.url === "/open") response.write("begun");
      else response.end("passed");
    });
    proxy = await startTcpProxy({ target: site.origin });
    url = proxy.urlFor(site.origin);
  });
  afterAll(async () => {
    await proxy?.stop();
    await site?.stop();
  });
  const get = async (signal?: AbortSignal) =>
    (await fetch(url, { headers: { connection: "close" }, signal })).text();

  it("passes everything and counts connections", async () => {
    const before = proxy.acceptedConnections();
    expect(await get()).toBe("passed");
    expect(await get()).toBe("passed");
    expect(proxy.acceptedConnections()).toBe(before + 2);
    await waitUntil(() => proxy.openConnections() === 0, { what: "closed connections", timeoutMs: 5_000 });
  });

  it("cuts open connections and accepts new ones", async () => {
    const answer = await fetch(`${url}/open`);
    const body = answer.body!.getReader();
    expect(Buffer.from((await body.read()).value!).toString()).toBe("begun");
    proxy.cut();
    await expect(body.read()).rejects.toThrow("terminated");
    expect(await get()).toBe("passed");
  });

  it("refuses connections until it is restored", async () => {
    await proxy.refuse();
    await expect(get()).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
    await proxy.restore();
    expect(await get()).toBe("passed");
  });

  it("accepts and then holds everything as a black hole, until it is restored", async () => {
    proxy.blackHole();
    const socket = createConnection(proxy.port, proxy.host);
    const received: string[] = [];
    socket.setEncoding("utf8").on("data", (text: string) => received.push(text));
    socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    await expect(get(AbortSignal.timeout(200))).rejects.toThrow("timeout");
    expect(received).toEqual([]);
    await proxy.restore();
    await waitUntil(() => received.join("").includes("passed"), { what: "the answer", timeoutMs: 5_000 });
    socket.destroy();
  });

  it("delays data until it is restored", async () => {
    proxy.delay(600_000);
    await expect(get(AbortSignal.timeout(200))).rejects.toThrow("timeout");
    const held = get();
    await waitUntil(() => proxy.openConnections() > 0, { what: "the connection", timeoutMs: 5_000 });
    proxy.delay(20);
    expect(await held).toBe("passed");
    expect(await get()).toBe("passed");
    await proxy.restore();
  });
});
