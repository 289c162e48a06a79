export type AnswerSink = {
  /** Names in lower case and values, one after the other. */
  onHead(status: number, headers: string[]): void;
  /** `last` when nothing follows. */
  onBody(chunk: Buffer, last: boolean): void;
  onEnd(): void;
};

type State = "idle" | "head" | "length" | "until-close" | "chunk-size" | "chunk" | "chunk-end" | "trailers";

const maxHeadBytes = 64 * 1024;
const headEnd = Buffer.from("\r\n\r\n");
const lineEnd = Buffer.from("\r\n");
const empty = Buffer.alloc(0);
const namePattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** What a server behind the gateway said that is not HTTP/1.1. */
export class BadAnswer extends Error {}

/**
 * Cuts a connection's bytes into answers. Node's own client costs more than all the rest of passing a request on;
 * this reads only what a gateway needs, and refuses what it does not understand.
 */
export class AnswerReader {
  #state: State = "idle";
  #sink: AnswerSink | undefined;
  #isHead = false;
  #held: Buffer = empty;
  /** Bytes of the body, or of this chunk of it, that are still to come. */
  #left = 0;
  #reusable = true;
  #keepAliveMs: number | null = null;

  /** The next bytes are the answer to this request. */
  begin(method: string, sink: AnswerSink): void {
    this.#state = "head";
    this.#sink = sink;
    this.#isHead = method === "HEAD";
    this.#reusable = true;
  }

  get busy(): boolean {
    return this.#state !== "idle";
  }

  /** Whether another request may follow on the connection once this answer is over. */
  get reusable(): boolean {
    return this.#reusable && this.#held.length === 0;
  }

  /** How long the server keeps an idle connection, where it says so. */
  get keepAliveMs(): number | null {
    return this.#keepAliveMs;
  }

  push(bytes: Buffer): void {
    let rest = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    this.#held = empty;
    while (rest.length > 0) {
      if (this.#state === "idle") throw new BadAnswer("it said something it was not asked for");
      const next = this.#step(rest);
      if (next === null) {
        this.#held = rest;
        return;
      }
      rest = next;
    }
  }

  /** The connection is over; true when that ends the answer properly. */
  close(): boolean {
    if (this.#state === "idle") return true;
    if (this.#state !== "until-close") return false;
    this.#finish();
    return true;
  }

  /** What is left of the bytes, or null when more are needed. */
  #step(bytes: Buffer): Buffer | null {
    switch (this.#state) {
      case "head":
        return this.#readHead(bytes);
      case "until-close":
        this.#sink!.onBody(bytes, false);
        return empty;
      case "length":
        return this.#readLength(bytes);
      case "chunk-size":
        return this.#readChunkSize(bytes);
      case "chunk":
        return this.#readChunk(bytes);
      case "chunk-end":
        if (bytes.length < 2) return null;
        if (bytes[0] !== 13 || bytes[1] !== 10)
          throw new BadAnswer("a chunk of its body is longer than it said");
        this.#state = "chunk-size";
        return bytes.subarray(2);
      default:
        return this.#readTrailers(bytes);
    }
  }

  #readHead(bytes: Buffer): Buffer | null {
    const end = bytes.indexOf(headEnd);
    if (end === -1 || end > maxHeadBytes) {
      if (bytes.length > maxHeadBytes) throw new BadAnswer("its headers are too large");
      return null;
    }
    const lines = bytes.toString("latin1", 0, end).split("\r\n");
    const match = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |$)/.exec(lines[0]!);
    if (!match) throw new BadAnswer("it does not begin as HTTP/1.1");
    const status = Number(match[2]);
    const rest = bytes.subarray(end + 4);
    if (status === 101) throw new BadAnswer("it changes the protocol unasked");
    // Interim answers are about the connection; the real one follows.
    if (status < 200) return rest;
    this.#reusable = match[1] === "1";
    this.#readHeaders(status, lines);
    return rest;
  }

  #readHeaders(status: number, lines: string[]): void {
    const headers: string[] = [];
    let length: number | null = null;
    let chunked = false;
    for (let index = 1; index < lines.length; index += 1) {
      const line = lines[index]!;
      const colon = line.indexOf(":");
      const name = line.slice(0, colon).toLowerCase();
      if (colon < 1 || !namePattern.test(name)) throw new BadAnswer("one of its headers has no name");
      const value = line.slice(colon + 1).trim();
      if (name === "content-length") {
        if (!/^\d{1,15}$/.test(value) || (length !== null && length !== Number(value)))
          throw new BadAnswer("its content-length is no number");
        if (length !== null) continue;
        length = Number(value);
      } else if (name === "transfer-encoding") {
        if (value.toLowerCase() !== "chunked") throw new BadAnswer(`its transfer-encoding is ${value}`);
        chunked = true;
        continue;
      } else if (name === "connection") {
        if (/\bclose\b/i.test(value)) this.#reusable = false;
        else if (/\bkeep-alive\b/i.test(value)) this.#reusable = true;
      } else if (name === "keep-alive") {
        const seconds = /\btimeout=(\d{1,6})\b/i.exec(value)?.[1];
        this.#keepAliveMs = seconds === undefined ? null : Number(seconds) * 1000;
      }
      headers.push(name, value);
    }
    if (chunked && length !== null) throw new BadAnswer("it has both a length and chunks");
    this.#sink!.onHead(status, headers);
    if (this.#isHead || status === 204 || status === 304 || status === 205) this.#finish();
    else if (chunked) this.#state = "chunk-size";
    else if (length === 0) this.#finish();
    else if (length !== null) {
      this.#state = "length";
      this.#left = length;
    } else {
      this.#state = "until-close";
      this.#reusable = false;
    }
  }

  #readLength(bytes: Buffer): Buffer {
    const part = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes;
    const rest = bytes.subarray(part.length);
    this.#left -= part.length;
    const last = this.#left === 0;
    this.#sink!.onBody(part, last);
    if (last) this.#finish();
    return rest;
  }

  #readChunkSize(bytes: Buffer): Buffer | null {
    const end = bytes.indexOf(lineEnd);
    if (end === -1 || end > 1024) {
      if (bytes.length > 1024) throw new BadAnswer("the size of a chunk is too long");
      return null;
    }
    const [, digits] = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i.exec(bytes.toString("latin1", 0, end)) ?? [];
    if (digits === undefined) throw new BadAnswer("the size of a chunk is no number");
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? "trailers" : "chunk";
    return bytes.subarray(end + 2);
  }

  #readChunk(bytes: Buffer): Buffer {
    const part = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes;
    this.#left -= part.length;
    if (this.#left === 0) this.#state = "chunk-end";
    this.#sink!.onBody(part, false);
    return bytes.subarray(part.length);
  }

  /** Trailers are dropped, as most gateways do. */
  #readTrailers(bytes: Buffer): Buffer | null {
    const end = bytes.indexOf(lineEnd);
    if (end === -1) {
      if (bytes.length > maxHeadBytes) throw new BadAnswer("its trailers are too large");
      return null;
    }
    if (end === 0) this.#finish();
    return bytes.subarray(end + 2);
  }

  #finish(): void {
    const sink = this.#sink!;
    this.#state = "idle";
    this.#sink = undefined;
    sink.onEnd();
  }
}
