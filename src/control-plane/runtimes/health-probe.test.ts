import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { untilAnnounced } from "./health-probe.ts";

async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { host: "127.0.0.1", port: (server.address() as AddressInfo).port, secret: null };
}

const good = JSON.stringify({ graphs: ["agent"], broken: {} });

describe("what a server says it serves", () => {
  it("is asked again after answers that are none", async () => {
    let elsewhere = 0;
    const other = await serve((_request, response) => {
      elsewhere += 1;
      response.end(good);
    });
    const answers: RequestListener[] = [
      (_request, response) => response.writeHead(503).end(good),
      (_request, response) => response.writeHead(302, { location: `http://127.0.0.1:${other.port}/` }).end(),
      (request) => request.socket.destroy(),
      (_request, response) => response.end(" ".repeat(300 * 1024) + good),
      (_request, response) => response.end(good),
    ];
    const server = await serve((request, response) => answers.shift()!(request, response));
    const refusals: string[] = [];
    const announced = await untilAnnounced(server, AbortSignal.timeout(20_000), (what) =>
      refusals.push(what),
    );
    expect(announced).toEqual({ graphs: ["agent"], broken: {} });
    expect(refusals).toHaveLength(4);
    expect(refusals[0]).toContain("/ok answers 503");
    expect(refusals[3]).toContain("more than 262144 bytes");
    expect(elsewhere).toBe(0);
  });

  it("ends with who asks", async () => {
    const stop = new AbortController();
    const server = await serve((_request, response) => response.writeHead(500).end());
    const asked = untilAnnounced(server, stop.signal, () => stop.abort(new Error("stopped")));
    await expect(asked).rejects.toThrow();
  });
});
