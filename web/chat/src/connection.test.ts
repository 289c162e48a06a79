import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** A server that gives these answers, and what the page's connection makes of them, change by change. */
async function changesAfter(statuses: readonly number[]): Promise<string[]> {
  vi.stubGlobal("sessionStorage", { getItem: () => null, removeItem: () => undefined });
  const { connection } = await import("./connection.ts");
  const left = [...statuses];
  const server = createServer((_request, response) => response.writeHead(left.shift()!).end()).listen(
    0,
    "127.0.0.1",
  );
  await once(server, "listening");
  const changes: string[] = [];
  const unsubscribe = connection.subscribe(() => changes.push(connection.status()));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (const _ of statuses) await (await connection.fetch(url)).text();
  server.closeAllConnections();
  server.close();
  await once(server, "close");
  await connection.fetch(url).catch(() => undefined);
  unsubscribe();
  return changes;
}

describe("the connection", () => {
  it("stays locked while it is refused: each change makes the page ask again, at once", async () => {
    expect(await changesAfter([200, 401, 401, 401])).toEqual(["locked", "lost"]);
  });

  it("notices that a server is away and back", async () => {
    expect(await changesAfter([503, 502, 504, 404, 401, 200])).toEqual([
      "lost",
      "online",
      "locked",
      "online",
      "lost",
    ]);
  });
});
