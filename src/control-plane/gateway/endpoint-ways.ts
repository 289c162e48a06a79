import { connect, type Socket } from "node:net";
import { Pool } from "undici";
import { authorityOf } from "../endpoints/endpoint.ts";
import type { Held } from "./gateway-store.ts";
import { SilenceWatch, type SilenceWatchOptions } from "./silence-watch.ts";
import type { Server, ServerEndpoint } from "./target.ts";

/** The connections to one endpoint, and the active requests on them. */
export type EndpointWay = {
  readonly endpoint: ServerEndpoint;
  pool: Pool;
  count: number;
  /** Something came from it since somebody last looked. */
  isHeard: boolean;
  usedMs: number;
  /** Until then others are asked first: it took no connection, or is stopping. */
  avoidUntil: number;
  /** Connections of their own. */
  readonly sockets: Set<Socket>;
};

const idlePoolMs = 60_000;
const connectMs = 1_000;
const avoidMs = 5_000;

/** Which endpoint of a server gets the next request, and how many each has. */
export class EndpointWays {
  readonly #ways = new Map<string, EndpointWay>();
  readonly #silence: SilenceWatch;
  #turn = 0;

  constructor(options: Pick<SilenceWatchOptions, "everyMs" | "isSilent"> = {}) {
    const ways = () => this.#ways.values();
    this.#silence = new SilenceWatch({ ...options, ways, cut: (way) => this.#cut(way) });
  }

  inFlight(instanceId: string): number {
    let sum = 0;
    for (const { endpoint, count } of this.#ways.values())
      if (endpoint.instanceId === instanceId) sum += count;
    return sum;
  }

  /** The active requests to all endpoints. */
  held(): Held {
    const held: Held = {};
    for (const { endpoint, count } of this.#ways.values()) {
      if (count === 0) continue;
      const { instanceId, name } = endpoint;
      held[instanceId] ??= {};
      held[instanceId][name] = (held[instanceId][name] ?? 0) + count;
    }
    return held;
  }

  /** The one with the fewest active requests, of those that take connections; undefined when all were tried. */
  choose({ endpoints }: Server, tried?: ReadonlySet<EndpointWay>): EndpointWay | undefined {
    const { length } = endpoints;
    let best: EndpointWay | undefined;
    // Where several have equally few, each gets its turn.
    if (length > 1) this.#turn = (this.#turn + 1) % length;
    for (let index = 0; index < length; index += 1) {
      const way = this.#wayTo(endpoints[length === 1 ? 0 : (this.#turn + index) % length]!);
      if (!tried?.has(way) && (best === undefined || isBetter(way, best))) best = way;
    }
    return best;
  }

  /** Counts an active request; the returned function ends it. */
  begin(way: EndpointWay): () => void {
    way.count += 1;
    this.#silence.begin();
    let over = false;
    return () => {
      if (over) return;
      over = true;
      way.count -= 1;
    };
  }

  avoid(way: EndpointWay): void {
    way.avoidUntil = performance.now() + avoidMs;
  }

  /** A connection of its own to one that was not tried, counted until `done`; null when no such endpoint takes one. */
  async connect(
    server: Server,
    tried: Set<EndpointWay>,
  ): Promise<{ socket: Socket; way: EndpointWay; done(): void } | null> {
    for (let way = this.choose(server, tried); way; way = this.choose(server, tried)) {
      tried.add(way);
      const { sockets } = way;
      const done = this.begin(way);
      const socket = await openSocket(way.endpoint);
      if (socket) {
        socket.once("close", () => sockets.delete(socket));
        sockets.add(socket);
        return { socket, way, done };
      }
      this.avoid(way);
      done();
    }
    return null;
  }

  /** Nothing answers there: what waits for it ends, and others are asked. */
  #cut(way: EndpointWay): void {
    this.avoid(way);
    const { pool } = way;
    way.pool = openPool(way.endpoint);
    const silent = new Error(`nothing responds at ${authorityOf(way.endpoint)}`);
    void pool.destroy(silent);
    for (const socket of way.sockets) socket.destroy(silent);
  }

  close(): void {
    this.#silence.stop();
    for (const { pool } of this.#ways.values()) void pool.destroy();
    this.#ways.clear();
  }

  #wayTo(endpoint: ServerEndpoint): EndpointWay {
    const usedMs = performance.now();
    const known = this.#ways.get(endpoint.key);
    if (known) {
      known.usedMs = usedMs;
      return known;
    }
    // Unused connections close on their own; here the entries of servers that are gone are dropped.
    for (const [key, way] of this.#ways) {
      if (way.count > 0 || usedMs - way.usedMs < idlePoolMs) continue;
      this.#ways.delete(key);
      void way.pool.destroy();
    }
    const counts = { count: 0, isHeard: false, usedMs, avoidUntil: 0 };
    const way = { endpoint, pool: openPool(endpoint), ...counts, sockets: new Set<Socket>() };
    this.#ways.set(endpoint.key, way);
    return way;
  }
}

function isBetter(way: EndpointWay, than: EndpointWay): boolean {
  const [avoided, thanAvoided] = [isAvoided(way), isAvoided(than)];
  return avoided === thanAvoided ? way.count < than.count : thanAvoided;
}

const isAvoided = ({ avoidUntil, usedMs }: EndpointWay) => avoidUntil > usedMs;

function openPool(endpoint: ServerEndpoint): Pool {
  return new Pool(`http://${authorityOf(endpoint)}`, {
    // One request at a time on a connection: an answer can only belong to the one that was asked.
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: 64 * 1024,
    // A run may take hours before its first byte.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 60_000,
    connect: { timeout: connectMs },
  });
}

function openSocket({ host, port }: ServerEndpoint): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const give = (given: Socket | null) => {
      clearTimeout(timer);
      socket.off("connect", opened);
      socket.off("error", refused);
      resolve(given);
    };
    const opened = () => give(socket);
    const refused = () => {
      socket.destroy();
      give(null);
    };
    const timer = setTimeout(refused, connectMs);
    socket.once("connect", opened);
    socket.once("error", refused);
  });
}
