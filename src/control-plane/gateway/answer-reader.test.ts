import { describe, expect, it } from "vitest";
import { AnswerReader, BadAnswer } from "./answer-reader.ts";

type Seen = { status: number; headers: string[]; body: string; ended: boolean };

/** Pushes the text in pieces of `size` bytes. */
function read(text: string, { method = "GET", size = text.length, close = false } = {}) {
  const reader = new AnswerReader();
  const seen: Seen = { status: 0, headers: [], body: "", ended: false };
  reader.begin(method, {
    onHead(status, headers) {
      seen.status = status;
      seen.headers = headers;
    },
    onBody(chunk) {
      seen.body += chunk.toString("latin1");
    },
    onEnd() {
      seen.ended = true;
    },
  });
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
  const proper = close ? reader.close() : undefined;
  return { ...seen, reusable: reader.reusable, keepAliveMs: reader.keepAliveMs, proper };
}

const sized = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nKeep-Alive: timeout=75\r\n\r\nhello";
const chunked =
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n";

describe("an answer", () => {
  it.each([1, 2, 3, 7, 1000])("is the same however it is cut: %i bytes at a time", (size) => {
    expect(read(sized, { size })).toMatchObject({
      body: "hello",
      ended: true,
      reusable: true,
      keepAliveMs: 75_000,
    });
    expect(read(chunked, { size })).toMatchObject({
      status: 200,
      headers: [],
      body: "hello",
      ended: true,
      reusable: true,
    });
  });

  it("has no body where it must not have one", () => {
    expect(read("HTTP/1.1 204 No Content\r\n\r\n")).toMatchObject({ status: 204, ended: true });
    expect(read("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n")).toMatchObject({ ended: true });
    const head = read("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", { method: "HEAD" });
    expect(head).toMatchObject({ ended: true, headers: ["content-length", "9"], reusable: true });
  });

  it("may follow interim ones", () => {
    const text = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${sized}`;
    expect(read(text, { size: 4 })).toMatchObject({ status: 200, body: "hello", ended: true });
  });

  it("without a length lasts until the connection ends, which is then of no more use", () => {
    const text = "HTTP/1.1 200 OK\r\n\r\nall of it";
    expect(read(text, { close: true })).toMatchObject({
      body: "all of it",
      ended: true,
      proper: true,
      reusable: false,
    });
    expect(read(sized.slice(0, -1), { close: true })).toMatchObject({ ended: false, proper: false });
    expect(read(chunked.slice(0, -2), { close: true })).toMatchObject({ ended: false, proper: false });
  });

  it("says whether the connection may be used again", () => {
    expect(read("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").reusable).toBe(false);
    expect(read("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").reusable).toBe(false);
    expect(read("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n").reusable).toBe(
      true,
    );
  });

  it.each([
    ["no HTTP", "SSH-2.0-x\r\n\r\n"],
    ["another protocol", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
    ["a header without a name", "HTTP/1.1 200 OK\r\nnothing\r\n\r\n"],
    ["a folded header", "HTTP/1.1 200 OK\r\nA: 1\r\n folded\r\n\r\n"],
    ["a length that is none", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
    ["a length and chunks", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"],
    ["another encoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"],
    ["a chunk that is too long", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n"],
    ["a size that is none", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"],
    ["more than was asked for", `${sized}HTTP/1.1 200 OK\r\n\r\n`],
    ["headers without end", `HTTP/1.1 200 OK\r\nA: ${"x".repeat(70_000)}`],
  ])("is refused when it has %s", (_what, text) => {
    expect(() => read(text)).toThrow(BadAnswer);
  });
});
