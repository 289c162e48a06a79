import type { IncomingMessage } from "node:http";
import { PassThrough, type Readable } from "node:stream";
import { AppError } from "../../platform/errors.ts";

/** How much of the body a client announced; from here on only what really arrives counts. */
export type Framing = { kind: "none" } | { kind: "sized"; bytes: number } | { kind: "chunked" };

/** Smaller ones are gathered before anything is sent: one write, and a slow client holds no server. */
const gatherBytes = 64 * 1024;

/** Node's parser has refused what is framed in two ways; what it takes but a server behind could read otherwise goes too. */
export function framingOf({
  headers,
  httpVersionMajor,
  httpVersionMinor,
}: Pick<IncomingMessage, "headers" | "httpVersionMajor" | "httpVersionMinor">): Framing {
  if (httpVersionMajor !== 1) throw badFraming("This server supports only HTTP/1.1 here.");
  const encoding = headers["transfer-encoding"];
  if (encoding !== undefined) {
    if (encoding.trim().toLowerCase() !== "chunked" || httpVersionMinor === 0) {
      throw badFraming(
        "The only Transfer-Encoding this server accepts is chunked, in HTTP/1.1. Send the body with a Content-Length.",
      );
    }
    return { kind: "chunked" };
  }
  const bytes = Number(headers["content-length"] ?? 0);
  if (!Number.isSafeInteger(bytes)) throw badFraming("The Content-Length is not a number of bytes.");
  return bytes === 0 ? { kind: "none" } : { kind: "sized", bytes };
}

export type SentBody = { body: Buffer | Readable | null; bytes: number | null; stop(): void };

/** The body of one request. However many servers are asked, it is read once: one that takes no connection has read nothing. */
export class RequestBody {
  readonly isGiven: boolean;
  readonly #incoming: IncomingMessage;
  readonly #framing: Framing;
  readonly #maxBytes: number;
  #opened: Promise<SentBody> | undefined;

  constructor(incoming: IncomingMessage, framing: Framing, maxBytes: number) {
    this.isGiven = framing.kind !== "none";
    this.#incoming = incoming;
    this.#framing = framing;
    this.#maxBytes = maxBytes;
  }

  open(): Promise<SentBody> {
    this.#opened ??= openBody(this.#incoming, this.#framing, this.#maxBytes);
    return this.#opened;
  }

  /** The reader has stopped. */
  stop(): void {
    if (!this.isGiven) return;
    void this.#opened?.then(
      (opened) => opened.stop(),
      () => undefined,
    );
  }
}

/**
 * The body as it is passed on, or null where there is none; `left` is called when the client goes in the middle, which
 * must not look like the end.
 */
async function openBody(incoming: IncomingMessage, framing: Framing, maxBytes: number): Promise<SentBody> {
  if (framing.kind === "none") return { body: null, bytes: null, stop: () => undefined };
  // The client left before anybody read: no event comes any more.
  if (incoming.destroyed) throw new ClientLeft();
  if (framing.kind === "sized" && framing.bytes > maxBytes) throw tooLarge(maxBytes);
  if (framing.kind === "sized" && framing.bytes <= gatherBytes) {
    return { body: await gather(incoming), bytes: null, stop: () => undefined };
  }
  const body = new PassThrough();
  let seen = 0;
  const onData = (chunk: Buffer) => {
    seen += chunk.length;
    if (seen > maxBytes) body.destroy(tooLarge(maxBytes));
  };
  const onGone = () => {
    if (!incoming.complete) body.destroy(new ClientLeft());
  };
  incoming.on("data", onData);
  incoming.once("error", onGone);
  incoming.once("close", onGone);
  // The reader of the body gets the error; without a reader there is nothing to do.
  body.on("error", () => undefined);
  incoming.pipe(body);
  return {
    body,
    bytes: framing.kind === "sized" ? framing.bytes : null,
    stop() {
      incoming.unpipe(body);
      incoming.off("data", onData);
      incoming.off("close", onGone);
      body.destroy();
      // The rest of it is read and dropped.
      incoming.resume();
    },
  };
}

function gather(incoming: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    const left = () => reject(new ClientLeft());
    incoming.on("data", (chunk: Buffer) => parts.push(chunk));
    incoming.once("end", () => {
      incoming.off("close", left);
      resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
    });
    incoming.once("error", left);
    incoming.once("close", left);
  });
}

/** The client is gone: there is no one to answer. */
export class ClientLeft extends Error {
  constructor() {
    super("The client closed the connection in the middle of its request.");
  }
}

export function tooLarge(maxBytes: number): AppError {
  return new AppError({
    code: "request.too_large",
    kind: "too_large",
    message: `The request body is larger than the limit of ${maxBytes} bytes. Send less at a time.`,
    headers: { connection: "close" },
  });
}

function badFraming(message: string): AppError {
  return new AppError({
    code: "gateway.bad_framing",
    kind: "invalid",
    message,
    headers: { connection: "close" },
  });
}
