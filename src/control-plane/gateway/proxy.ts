import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "../../platform/errors.ts";
import { createUpstreams, type Instance, type UpstreamConnection } from "./upstream-connection.ts";

export type ProxyRequest = {
  instance: Instance;
  method: string;
  /** The request line and the headers, as they go out. */
  head: string;
  body: "none" | "sized" | "chunked";
  maxBodyBytes: number;
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  /** Writes the head of the answer. */
  onHead(status: number, headers: string[]): void;
};

/** Passes requests on and their answers back, as they come, and counts what is under way to each server. */
export function createProxy() {
  const upstreams = createUpstreams();
  const counts = new Map<string, number>();

  function begin(instanceId: string): () => void {
    counts.set(instanceId, (counts.get(instanceId) ?? 0) + 1);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      const left = (counts.get(instanceId) ?? 1) - 1;
      if (left === 0) counts.delete(instanceId);
      else counts.set(instanceId, left);
    };
  }

  async function send(request: ProxyRequest): Promise<void> {
    const connection = upstreams.take(request.instance);
    try {
      await exchange(request, connection);
    } catch (error) {
      // The server had just closed this connection; a request without a body can simply be sent again.
      const stale = error instanceof ConnectionLost && connection.reused && !connection.heard;
      if (!stale || request.body !== "none") throw error;
      await exchange(request, upstreams.open(request.instance));
    }
  }

  function exchange(request: ProxyRequest, connection: UpstreamConnection): Promise<void> {
    return new Promise((resolve, reject) => {
      const { outgoing } = request;
      let begun = false;
      let over = false;
      const settle = (error?: Error) => {
        if (over) return;
        over = true;
        outgoing.off("close", onClosed);
        stopSending();
        if (error) reject(error);
        else resolve();
      };
      const fail = (error: Error) => {
        connection.abandon();
        if (begun) outgoing.destroy();
        settle(begun ? undefined : error);
      };
      // The client left; the server behind hears of it.
      const onClosed = () => {
        connection.abandon();
        settle();
      };
      outgoing.on("close", onClosed);
      let ended = false;
      connection.begin(request.method, {
        onHead(status, headers) {
          begun = true;
          request.onHead(status, headers);
        },
        onBody(chunk, last) {
          if (last) {
            ended = true;
            outgoing.end(chunk);
          } else if (!outgoing.write(chunk) && !outgoing.destroyed && !connection.socket.isPaused()) {
            connection.socket.pause();
            outgoing.once("drain", () => connection.socket.resume());
          }
        },
        onPause() {
          if (begun) outgoing.flushHeaders();
        },
        onEnd() {
          if (!ended) outgoing.end();
          settle();
          // In its own time: the reader is still in the middle of the bytes.
          queueMicrotask(() => upstreams.giveBack(request.instance, connection));
        },
        onLost: (error) => fail(new ConnectionLost(error)),
      });
      const stopSending = sendRequest(request, connection, { fail, left: onClosed });
    });
  }

  return {
    begin,
    inFlight: (instanceId: string) => counts.get(instanceId) ?? 0,
    /** Resolves when the answer was passed on, or nobody wants it any more; rejects when there is none. */
    async forward(request: ProxyRequest): Promise<void> {
      const done = begin(request.instance.id);
      try {
        await send(request);
      } catch (error) {
        throw error instanceof ConnectionLost ? unreachable(error) : error;
      } finally {
        done();
      }
    },
    close: () => upstreams.close(),
  };
}

export type RequestProxy = ReturnType<typeof createProxy>;

class ConnectionLost extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

/** Writes the request, no faster than the server takes it. The result stops it. */
function sendRequest(
  { head, body, incoming, maxBodyBytes }: ProxyRequest,
  connection: UpstreamConnection,
  on: { fail(error: Error): void; left(): void },
): () => void {
  const { socket } = connection;
  socket.write(head, "latin1");
  connection.sent = body === "none";
  if (body === "none") return () => undefined;
  const chunked = body === "chunked";
  let seen = 0;
  const resume = () => incoming.resume();
  const onData = (chunk: Buffer) => {
    seen += chunk.length;
    if (seen > maxBodyBytes) {
      on.fail(tooLarge(maxBodyBytes));
      return;
    }
    if (chunked) socket.write(`${chunk.length.toString(16)}\r\n`, "latin1");
    let taken = socket.write(chunk);
    if (chunked) taken = socket.write("\r\n", "latin1");
    if (!taken) {
      incoming.pause();
      socket.once("drain", resume);
    }
  };
  const onEnd = () => {
    if (chunked) socket.write("0\r\n\r\n", "latin1");
    connection.sent = true;
  };
  // A client that stops in the middle must not look like one that finished.
  incoming.on("data", onData);
  incoming.on("end", onEnd);
  incoming.on("error", on.left);
  return () => {
    incoming.off("data", onData);
    incoming.off("end", onEnd);
    incoming.off("error", on.left);
    socket.off("drain", resume);
    // What is left of it is read and dropped.
    incoming.on("error", () => undefined);
    incoming.resume();
  };
}

function unreachable(cause: Error): AppError {
  return new AppError({
    code: "gateway.unreachable",
    kind: "unavailable",
    message: "The deployed server does not answer: it ended, or is being replaced. Ask again in a moment.",
    headers: { "retry-after": "1" },
    cause,
  });
}

export function tooLarge(maxBytes: number): AppError {
  return new AppError({
    code: "request.too_large",
    kind: "too_large",
    message: `The request body is larger than ${maxBytes} bytes, the most a deployment takes. Send less at a time.`,
    headers: { connection: "close" },
  });
}
