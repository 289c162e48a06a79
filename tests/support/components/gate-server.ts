import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Places where deployed code and builds wait: they see no folder of a test, but they have the network. */
export type GateServer = {
  /** One statement of code that waits at the gate of this name. */
  wait(name: string): string;
  /** Those that wait pass, and all that come later. */
  open(name: string): void;
  /** Those that come later pass; those that wait go on waiting. */
  openForLater(name: string): void;
  /** How many wait now; who ends is not counted any more. */
  waiting(name: string): number;
  stop(): Promise<void>;
};

export async function startGateServer(): Promise<GateServer> {
  const opened = new Set<string>();
  const held = new Map<string, Set<ServerResponse>>();
  const server = createServer((request, response) => {
    const name = request.url!.slice(1);
    if (opened.has(name)) return void response.end();
    const waiting = held.get(name) ?? new Set();
    held.set(name, waiting.add(response));
    response.on("close", () => waiting.delete(response));
  });
  server.requestTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    wait: (name) => `await fetch("http://127.0.0.1:${port}/${name}");`,
    open(name) {
      opened.add(name);
      for (const response of held.get(name) ?? []) response.end();
    },
    openForLater: (name) => void opened.add(name),
    waiting: (name) => held.get(name)?.size ?? 0,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
