import { createServer, type Server as HttpServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { freePort } from "../../../tests/support/components/free-port.ts";
import { type EndpointWay, EndpointWays } from "./endpoint-ways.ts";
import { NotReached, RequestProxy } from "./proxy.ts";
import { framingOf, RequestBody } from "./request-body.ts";
import { readyEndpoints, type Server } from "./target.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function listen(server: HttpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

function serverAt(...ports: number[]): Server {
  const endpoints = ports.map((port, index) => ({ name: `e${index}`, host: "127.0.0.1", port, ready: true }));
  return { id: "i", port: 1, secret: null, endpoints: readyEndpoints("i", endpoints) };
}

describe("the choice of an endpoint", () => {
  const nameOf = (way: EndpointWay | undefined) => way?.endpoint.name;

  it("takes the one with the fewest requests, each in turn, and none twice", () => {
    const ways = new EndpointWays();
    const server = serverAt(1, 2, 3);
    const first = ways.choose(server)!;
    const done = ways.begin(first);
    const second = ways.choose(server)!;
    ways.begin(second);
    const third = ways.choose(server)!;
    expect(new Set([first, second, third]).size).toBe(3);
    expect(ways.held()).toEqual({ i: { [nameOf(first)!]: 1, [nameOf(second)!]: 1 } });
    done();
    done();
    expect(ways.inFlight("i")).toBe(1);
    expect(ways.choose(server, new Set([first, second, third]))).toBeUndefined();
    ways.close();
  });

  it("asks one that took no connection last", () => {
    const ways = new EndpointWays();
    const server = serverAt(1, 2);
    const dead = ways.choose(server)!;
    ways.avoid(dead);
    for (let round = 0; round < 5; round += 1) {
      const chosen = ways.choose(server)!;
      expect(chosen).not.toBe(dead);
      ways.begin(chosen);
    }
    expect(ways.choose(serverAt(dead.endpoint.port))?.endpoint.port).toBe(dead.endpoint.port);
    ways.close();
  });
});

describe("an endpoint whose machine is gone", () => {
  it("ends what waits there: reads are asked elsewhere, the rest gets 503, streams and sockets are cut", async () => {
    const mute = await listen(createServer(() => {}));
    const well = await listen(createServer((_request, response) => response.end("well")));
    const half = await listen(createServer((_request, response) => response.write("half")));
    const ways = new EndpointWays({ everyMs: 10, isSilent: async ({ port }) => port !== well });
    const proxy = new RequestProxy(ways);
    const outcomes: unknown[] = [];
    closers.push(async () => proxy.close());
    const gateway = await listen(
      createServer((incoming, outgoing) => {
        const body = new RequestBody(incoming, framingOf(incoming), 1_000);
        const ports = incoming.url!.slice(1).split(",").map(Number);
        const place = { server: serverAt(...ports), method: incoming.method!, path: "/", body, outgoing };
        proxy
          .forward({ ...place, headers: ["host", "x"], onHead: (status) => outgoing.writeHead(status) })
          .catch((error: unknown) => {
            outcomes.push(error);
            outgoing.writeHead(503).end();
          })
          .finally(() => body.stop());
      }),
    );
    const ask = (method: string, ...ports: number[]) =>
      fetch(`http://127.0.0.1:${gateway}/${ports.join(",")}`, { method });
    // Two at once: one of them goes to each endpoint.
    const reads = await Promise.all([ask("GET", mute, well), ask("GET", mute, well)]);
    expect(await Promise.all(reads.map((answer) => answer.text()))).toEqual(["well", "well"]);
    expect((await ask("POST", mute)).status).toBe(503);
    expect(outcomes).toMatchObject([{ code: "gateway.unreachable" }]);
    const stream = await ask("GET", half);
    expect(stream.status).toBe(200);
    await expect(stream.text()).rejects.toThrow();
    const connection = await ways.connect(serverAt(mute), new Set());
    connection!.socket.on("error", () => {});
    await new Promise((resolve) => connection!.socket.once("close", resolve));
    connection!.done();
    expect(ways.held()).toEqual({});
  });
});

describe("a request with a body that is passed on in parts", () => {
  /** A gateway that only passes requests on. */
  async function passOn(server: Server) {
    const proxy = new RequestProxy();
    const outcomes: unknown[] = [];
    closers.push(async () => proxy.close());
    const port = await listen(
      createServer((incoming, outgoing) => {
        const body = new RequestBody(incoming, framingOf(incoming), 10_000_000);
        const place = { server, method: "POST", path: "/", headers: ["host", "x"], body, outgoing };
        proxy
          .forward({ ...place, onHead: (status) => outgoing.writeHead(status) })
          .catch((error: unknown) => {
            outcomes.push(error);
            outgoing.writeHead(503).end();
          })
          .finally(() => body.stop());
      }),
    );
    return { port, proxy, outcomes };
  }

  const send = (port: number, text: string): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port, method: "POST" }, async (response) => {
        let got = "";
        for await (const part of response) got += part;
        resolve({ status: response.statusCode!, text: got });
      });
      sent.once("error", reject);
      // In parts without a length, the first at once.
      for (let from = 0; from < text.length; from += 50_000) sent.write(text.slice(from, from + 50_000));
      sent.end();
    });

  it("arrives whole at the endpoint that takes a connection", async () => {
    const echo = await listen(
      createServer((incoming, outgoing) => {
        incoming.pipe(outgoing);
      }),
    );
    const gateway = await passOn(serverAt(await freePort(), await freePort(), echo));
    const text = "0123456789".repeat(40_000);
    for (let round = 0; round < 6; round += 1)
      expect(await send(gateway.port, text)).toEqual({ status: 200, text });
    expect(gateway.proxy.ways.held()).toEqual({});
  });

  it("goes nowhere when none does, and was not sent", async () => {
    const gateway = await passOn(serverAt(await freePort(), await freePort()));
    expect(await send(gateway.port, "x".repeat(200_000))).toMatchObject({ status: 503 });
    expect(gateway.outcomes).toEqual([expect.any(NotReached)]);
    expect(gateway.proxy.ways.held()).toEqual({});
  });
});

describe("a client that leaves before anybody reads its body", () => {
  it.each([
    ["content-length: 5", "hello"],
    ["content-length: 500", "hello"],
    ["transfer-encoding: chunked", "5\r\nhello\r\n"],
  ])("with %s holds nothing", async (framing, body) => {
    const proxy = new RequestProxy();
    closers.push(async () => proxy.close());
    const asked: string[] = [];
    const behind = await listen(
      createServer((incoming, outgoing) => {
        asked.push(incoming.url!);
        outgoing.end();
      }),
    );
    const over = Promise.withResolvers<void>();
    const port = await listen(
      createServer((incoming, outgoing) => {
        client.destroy();
        const forward = () => {
          const read = new RequestBody(incoming, framingOf(incoming), 10_000_000);
          const request = { server: serverAt(behind), method: "POST", path: "/", headers: ["host", "x"] };
          proxy
            .forward({ ...request, body: read, outgoing, onHead: () => {} })
            .then(over.resolve, over.reject);
        };
        // As while the gateway checks the credential: by then the request is over, and no event comes any more.
        incoming.once("close", () => setImmediate(forward));
      }),
    );
    const client = connect({ host: "127.0.0.1", port });
    client.write(`POST / HTTP/1.1\r\nhost: x\r\n${framing}\r\n\r\n${body}`);
    await over.promise;
    expect(proxy.ways.held()).toEqual({});
    expect(asked).toEqual([]);
  });
});
