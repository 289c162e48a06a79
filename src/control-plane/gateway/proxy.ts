import { Agent, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";

export type ProxyRequest = {
  instance: { id: string; port: number };
  method: string;
  /** Path and query as the server behind sees them. */
  path: string;
  headers: OutgoingHttpHeaders;
  /** Undefined when there is none. */
  body: Readable | undefined;
  maxBodyBytes: number;
  /** The client went away. */
  signal: AbortSignal;
};

export type ProxyBody = Buffer<ArrayBuffer> | ReadableStream<Uint8Array> | null;

/** Small answers are handed over whole, which is cheaper than a stream. */
const wholeBytes = 64 * 1024;

/** Passes requests on and their answers back, as they come, and counts what is under way to each server. */
export function createProxy(logger: Logger) {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 128, scheduling: "lifo" });
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

  async function send(request: ProxyRequest): Promise<IncomingMessage> {
    try {
      return await exchange(request, agent);
    } catch (error) {
      // The server had just closed this connection; a request without a body can simply be sent again.
      const stale = error instanceof ConnectionLost && error.reused;
      if (stale && request.body === undefined) return exchange(request, agent);
      throw error;
    }
  }

  return {
    begin,
    inFlight: (instanceId: string) => counts.get(instanceId) ?? 0,
    async forward(
      request: ProxyRequest,
    ): Promise<{ incoming: IncomingMessage; body: () => Promise<ProxyBody> }> {
      const done = begin(request.instance.id);
      let incoming: IncomingMessage;
      try {
        incoming = await send(request);
      } catch (error) {
        done();
        if (error instanceof ConnectionLost) throw unreachable(error);
        throw error;
      }
      incoming.once("close", done);
      incoming.on("error", (error) =>
        logger.debug({ err: error }, "an answer from a deployed server was cut off"),
      );
      return { incoming, body: () => bodyOf(incoming, request.method) };
    },
    close: () => agent.destroy(),
  };
}

export type RequestProxy = ReturnType<typeof createProxy>;

class ConnectionLost extends Error {
  readonly reused: boolean;

  constructor(cause: Error, reused: boolean) {
    super(cause.message, { cause });
    this.reused = reused;
  }
}

function exchange(request: ProxyRequest, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({
      host: "127.0.0.1",
      port: request.instance.port,
      method: request.method,
      path: request.path,
      headers: request.headers,
      agent,
    });
    outgoing.setNoDelay(true);
    const onAbort = () => outgoing.destroy(new Error("the client went away"));
    request.signal.addEventListener("abort", onAbort, { once: true });
    outgoing.once("close", () => request.signal.removeEventListener("abort", onAbort));
    outgoing.once("response", resolve);
    outgoing.once("error", (error) => reject(new ConnectionLost(error, outgoing.reusedSocket)));
    if (request.body === undefined) outgoing.end();
    else pipeBody(request.body, outgoing, request.maxBodyBytes, reject);
  });
}

function pipeBody(
  body: Readable,
  outgoing: ReturnType<typeof httpRequest>,
  maxBytes: number,
  reject: (error: Error) => void,
) {
  let seen = 0;
  body.on("data", (chunk: Buffer) => {
    seen += chunk.length;
    if (seen > maxBytes) {
      body.unpipe(outgoing);
      reject(tooLarge(maxBytes));
      outgoing.destroy();
    }
  });
  // A client that stops in the middle must not look like one that finished.
  body.once("error", (error) => outgoing.destroy(error));
  body.once("close", () => {
    if (!(body as { readableEnded?: boolean }).readableEnded)
      outgoing.destroy(new Error("the client went away"));
  });
  body.pipe(outgoing);
}

async function bodyOf(incoming: IncomingMessage, method: string): Promise<ProxyBody> {
  const status = incoming.statusCode ?? 502;
  if (method === "HEAD" || status === 204 || status === 304 || status === 205) {
    incoming.resume();
    return null;
  }
  const length = Number(incoming.headers["content-length"] ?? Number.NaN);
  if (length <= wholeBytes) {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    return chunks.length === 1 ? (chunks[0] as Buffer<ArrayBuffer>) : Buffer.concat(chunks);
  }
  return streamOf(incoming);
}

/** Every piece as it arrives, no faster than the reader takes them. */
function streamOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let over = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        incoming.on("data", (chunk: Buffer) => {
          controller.enqueue(chunk);
          if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
        });
        incoming.once("end", () => {
          over = true;
          controller.close();
        });
        incoming.once("close", () => {
          if (over) return;
          over = true;
          controller.error(new Error("The deployed server ended its answer too early."));
        });
      },
      pull() {
        incoming.resume();
      },
      cancel() {
        over = true;
        incoming.destroy();
      },
    },
    { highWaterMark: 16 },
  );
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

function tooLarge(maxBytes: number): AppError {
  return new AppError({
    code: "request.too_large",
    kind: "too_large",
    message: `The request body is larger than ${maxBytes} bytes, the most a deployment takes. Send less at a time.`,
    headers: { connection: "close" },
  });
}
