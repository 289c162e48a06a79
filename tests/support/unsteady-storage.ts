import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";

export type UnsteadyStorage = {
  url: string;
  /** Answers this many writes of objects with 503 instead of passing them on. */
  refuseWrites(count: number): void;
  /** Answers every write of these clients so, by the name they give themselves. */
  refuseClients(agent: RegExp): void;
  /** Sends every write of these clients to another address. */
  redirectClients(agent: RegExp, location: string): void;
  /** How many it has refused so far. */
  refused(): number;
  stop(): Promise<void>;
};

/** Passes requests on to a real storage, signatures and all, until it is switched to answer like one that is overloaded. */
export async function startUnsteadyStorage(target: string): Promise<UnsteadyStorage> {
  const { hostname, port } = new URL(target);
  let left = 0;
  let refused = 0;
  let agents: RegExp | undefined;
  let elsewhere: string | undefined;
  const server = createServer((incoming, outgoing) => {
    const isUnwanted = agents?.test(incoming.headers["user-agent"] ?? "") ?? false;
    if (incoming.method === "PUT" && (left > 0 || isUnwanted)) {
      if (!isUnwanted) left -= 1;
      refused += 1;
      incoming.resume();
      incoming.on("end", () => {
        if (isUnwanted && elsewhere !== undefined) {
          outgoing.writeHead(307, { location: elsewhere }).end();
          return;
        }
        outgoing.writeHead(503, { "content-type": "application/xml" });
        outgoing.end(
          `<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Reduce your rate</Message></Error>`,
        );
      });
      return;
    }
    // The Host the signature was made for goes along.
    const { method, url, headers } = incoming;
    const forward = httpRequest({ hostname, port, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    forward.on("error", () => outgoing.destroy());
    incoming.pipe(forward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}`,
    refuseWrites(count) {
      left = count;
    },
    refuseClients(agent) {
      agents = agent;
    },
    redirectClients(agent, location) {
      agents = agent;
      elsewhere = location;
    },
    refused: () => refused,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
