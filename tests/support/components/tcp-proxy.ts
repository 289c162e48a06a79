import { connect, createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "./free-port.ts";

export interface TcpProxy {
  host: string;
  port: number;
  /** The same URL with the proxy's host and port. */
  urlFor(url: string): string;
  /** Where connections made from now on lead. */
  retarget(target: string): void;
  /** Resets every open connection; new ones pass. */
  cut(): void;
  /** Holds each piece of data this long, both ways; what an earlier delay still holds is let go. */
  delay(ms: number): void;
  /** Resets open connections and refuses new ones until `restore`. */
  refuse(): Promise<void>;
  /**
   * Accepts connections and lets no byte through, either way, until `restore`: what a peer behind a dropping
   * firewall sees. What was sent meanwhile then arrives, as retransmission would have it.
   */
  blackHole(): void;
  /** What the server answers waits until `restore`; what it is sent still arrives. */
  holdAnswers(): void;
  /** Connections open now are dead from here on: what is sent on them is acknowledged and lost. New ones pass. */
  swallowOpen(): void;
  /** Back to passing everything at once. */
  restore(): Promise<void>;
  acceptedConnections(): number;
  openConnections(): number;
  stop(): Promise<void>;
}

const DEFAULT_PORTS: Record<string, number> = {
  "http:": 80,
  "https:": 443,
  "postgres:": 5432,
  "postgresql:": 5432,
};

function parseTarget(target: string | { host: string; port: number }): { host: string; port: number } {
  if (typeof target !== "string") return target;
  const url = new URL(target);
  const port = url.port ? Number(url.port) : DEFAULT_PORTS[url.protocol];
  if (!port) throw new Error(`The target ${target} names no port; write it as host:port.`);
  return { host: url.hostname, port };
}

/** A gate that is open or makes callers wait. */
function createGate() {
  let closed: PromiseWithResolvers<void> | undefined;
  return {
    close() {
      closed ??= Promise.withResolvers<void>();
    },
    open() {
      closed?.resolve();
      closed = undefined;
    },
    passed: () => closed?.promise,
  };
}

/** Stands between a client and a real server and breaks the network on demand. */
export async function startTcpProxy(options: {
  target: string | { host: string; port: number };
  /** Made for each connection; sees what its client sends. */
  inspect?: () => (chunk: Buffer) => void;
}): Promise<TcpProxy> {
  let target = parseTarget(options.target);
  const gate = createGate();
  const answers = createGate();
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  const swallowed = new WeakSet<Socket>();
  let delayMs = 0;
  let delayChanged = Promise.withResolvers<void>();
  let accepted = 0;
  // Not the system's choice: the port must still be free when a refusing proxy listens again.
  const port = await freePort();

  async function pump(source: Socket, sink: Socket, seen?: (chunk: Buffer) => void): Promise<void> {
    for await (const chunk of source) {
      seen?.(chunk as Buffer);
      if (delayMs > 0) await Promise.race([pause(delayMs, undefined, { ref: false }), delayChanged.promise]);
      await gate.passed();
      if (!clients.has(source)) await answers.passed();
      if (swallowed.has(source)) continue;
      if (sink.destroyed) return;
      if (!sink.write(chunk)) {
        await new Promise<void>((resolve) => {
          sink.once("drain", resolve);
          sink.once("close", resolve);
        });
      }
    }
    await gate.passed();
    if (!swallowed.has(source)) sink.end();
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    accepted += 1;
    clients.add(client);
    client.once("close", () => clients.delete(client));
    const upstream = connect({ ...target, allowHalfOpen: true, noDelay: true });
    for (const [socket, peer, seen] of [
      [client, upstream, options.inspect?.()],
      [upstream, client, undefined],
    ] as const) {
      sockets.add(socket);
      // One side's failure is the other side's reset: the endpoints report it, the proxy has nothing to add.
      socket.on("error", () => {
        if (!swallowed.has(socket)) peer.resetAndDestroy();
      });
      socket.on("close", (failed) => {
        sockets.delete(socket);
        if (failed && !swallowed.has(socket)) peer.destroy();
      });
      pump(socket, peer, seen).catch(() => peer.destroy());
    }
  });

  const listen = () =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", () => {
        server.off("error", reject);
        resolve();
      });
    });
  const setDelay = (ms: number) => {
    delayMs = ms;
    delayChanged.resolve();
    delayChanged = Promise.withResolvers<void>();
  };
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const refuse = async () => {
    const closed = server.listening
      ? new Promise<void>((resolve) => server.close(() => resolve()))
      : Promise.resolve();
    gate.open();
    answers.open();
    cut();
    await closed;
  };

  await listen();

  return {
    host: "127.0.0.1",
    port,
    urlFor(url) {
      const rewritten = new URL(url);
      rewritten.hostname = "127.0.0.1";
      rewritten.port = String(port);
      // URL adds a slash to a bare origin; an endpoint that had none must not gain one.
      return url.endsWith("/") ? rewritten.href : rewritten.href.replace(/\/$/, "");
    },
    retarget(next) {
      target = parseTarget(next);
    },
    cut,
    delay: setDelay,
    refuse,
    blackHole: gate.close,
    holdAnswers: answers.close,
    swallowOpen() {
      for (const socket of sockets) swallowed.add(socket);
    },
    async restore() {
      setDelay(0);
      gate.open();
      answers.open();
      if (!server.listening) await listen();
    },
    acceptedConnections: () => accepted,
    openConnections: () => clients.size,
    stop: refuse,
  };
}
