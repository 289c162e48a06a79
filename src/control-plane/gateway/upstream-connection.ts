import { connect, type Socket } from "node:net";
import { AnswerReader, type AnswerSink } from "./answer-reader.ts";

export type UpstreamSink = AnswerSink & {
  /** Everything that was there has been handed over. */
  onPause(): void;
  /** The connection went before the answer was complete. */
  onLost(error: Error): void;
};

/** Where a server does not say how long it keeps an idle connection. */
const idleMs = 4_000;
const maxIdleMs = 60_000;
/** A request on its way while the server closes would be lost. */
const marginMs = 1_000;

/** One connection to a deployed server: one request at a time, many after another. */
export class UpstreamConnection {
  readonly socket: Socket;
  /** Whether this connection has answered before. */
  reused = false;
  /** Whether anything of this answer has arrived. */
  heard = false;
  /** Set when the whole request has been written. */
  sent = true;
  idleUntil = 0;
  #reader = new AnswerReader();
  #sink: UpstreamSink | undefined;

  constructor(port: number) {
    this.socket = connect({ host: "127.0.0.1", port, noDelay: true });
    this.socket.on("data", (bytes) => this.#onData(bytes));
    this.socket.on("error", (error) => this.#onGone(error));
    // An end in order is how an answer without a length is over.
    this.socket.on("end", () => this.#onGone(new Error("the server closed the connection")));
    this.socket.on("close", () => this.#onGone(new Error("the server closed the connection")));
  }

  begin(method: string, sink: UpstreamSink): void {
    this.#sink = sink;
    this.heard = false;
    this.#reader.begin(method, sink);
  }

  get open(): boolean {
    return !this.socket.destroyed && this.socket.writable;
  }

  /** Whether the next request may use it, now that the answer is over. */
  get reusable(): boolean {
    return this.open && this.sent && !this.#reader.busy && this.#reader.reusable;
  }

  rest(now: number): void {
    this.#sink = undefined;
    this.reused = true;
    const keptMs = this.#reader.keepAliveMs;
    this.idleUntil = now + (keptMs === null ? idleMs : Math.min(maxIdleMs, keptMs - marginMs));
  }

  /** Nobody wants the answer any more. */
  abandon(): void {
    this.#sink = undefined;
    this.socket.destroy();
  }

  #onData(bytes: Buffer): void {
    this.heard = true;
    try {
      this.#reader.push(bytes);
    } catch (error) {
      this.#onGone(error as Error);
      return;
    }
    if (this.#reader.busy) this.#sink?.onPause();
  }

  #onGone(error: Error): void {
    const sink = this.#sink;
    this.#sink = undefined;
    if (sink && !this.#reader.close()) sink.onLost(error);
    this.socket.destroy();
  }
}

export type Instance = { id: string; port: number };

const sweepMs = 5_000;

/** Idle connections, by server. The newest is used first, so that those not needed grow old and are closed. */
export function createUpstreams() {
  const idle = new Map<string, UpstreamConnection[]>();
  const sweep = setInterval(() => {
    const now = performance.now();
    for (const [id, connections] of idle) {
      const kept = connections.filter((connection) => connection.open && connection.idleUntil > now);
      for (const connection of connections) if (!kept.includes(connection)) connection.abandon();
      if (kept.length === 0) idle.delete(id);
      else idle.set(id, kept);
    }
  }, sweepMs);
  sweep.unref();

  return {
    take({ id, port }: Instance): UpstreamConnection {
      const connections = idle.get(id);
      const now = performance.now();
      for (let next = connections?.pop(); next !== undefined; next = connections?.pop()) {
        if (next.open && next.idleUntil > now) return next;
        next.abandon();
      }
      return new UpstreamConnection(port);
    },
    open: ({ port }: Instance) => new UpstreamConnection(port),
    giveBack({ id }: Instance, connection: UpstreamConnection): void {
      if (!connection.reusable) {
        connection.abandon();
        return;
      }
      connection.rest(performance.now());
      const connections = idle.get(id);
      if (connections) connections.push(connection);
      else idle.set(id, [connection]);
    },
    close(): void {
      clearInterval(sweep);
      for (const connection of [...idle.values()].flat()) connection.abandon();
      idle.clear();
    },
  };
}
