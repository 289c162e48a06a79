import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exchangeRaw, isWhole, type RawGateway, startRawGateway } from "../support/raw-gateway.ts";
import { type RawUpstream, startRawUpstream } from "../support/raw-upstream.ts";

/** A second request, hidden where only a server that reads otherwise than the gateway would find one. */
const hidden = "POST /smuggled HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx";
const ok = (text: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;

function joinChunks(text: string): string {
  const [, digits = "0", rest = ""] = /^([0-9a-f]+)\r\n([\s\S]*)$/.exec(text) ?? [];
  const size = Number.parseInt(digits, 16);
  return size === 0 ? "" : rest.slice(0, size) + joinChunks(rest.slice(size + 2));
}

describe("requests that two servers could read in two ways", () => {
  let upstream: RawUpstream;
  let gateway: RawGateway;
  beforeAll(async () => {
    upstream = await startRawUpstream(({ path }) => ok(path));
    gateway = await startRawGateway(upstream.port);
  });
  afterAll(async () => {
    await gateway.close();
    await upstream.close();
  });

  const request = (headers: string, body = "", line = "POST /d/x/first HTTP/1.1") =>
    `${line}\r\nHost: localhost\r\n${headers}\r\n${body}`;
  const chunked = (more = "") => `Transfer-Encoding: chunked\r\n${more}`;

  it.each<[string, string]>([
    [
      "content-length named by Connection",
      request(`Connection: keep-alive, content-length\r\nContent-Length: ${hidden.length}\r\n`, hidden),
    ],
    [
      "transfer-encoding named by Connection",
      request(`Connection: close, transfer-encoding\r\n${chunked()}`, `0\r\n\r\n${hidden}`),
    ],
    ["host named by Connection", request("Connection: host\r\nContent-Length: 0\r\n", hidden)],
    [
      "CL.TE: a length and chunks",
      request(`Content-Length: ${5 + hidden.length}\r\n${chunked()}`, `0\r\n\r\n${hidden}`),
    ],
    [
      "TE.CL: chunks and a length",
      request(`${chunked()}Content-Length: 4\r\n`, `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`),
    ],
    ["TE.TE: two encodings", request(`${chunked()}Transfer-Encoding: identity\r\n`, `0\r\n\r\n${hidden}`)],
    ["TE.TE: chunked twice", request("Transfer-Encoding: chunked, chunked\r\n", `0\r\n\r\n${hidden}`)],
    ["TE.TE: xchunked", request("Transfer-Encoding: xchunked\r\n", `0\r\n\r\n${hidden}`)],
    [
      "TE.TE: a space before the colon",
      request(`Transfer-Encoding : chunked\r\nContent-Length: 4\r\n`, `0\r\n\r\n${hidden}`),
    ],
    [
      "TE.TE: a leading space on the line",
      request(`X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 4\r\n`, hidden),
    ],
    [
      "TE.TE: a vertical tab before chunked",
      request("Transfer-Encoding: \x0bchunked\r\nContent-Length: 4\r\n", hidden),
    ],
    ["TE.TE: a NUL in the value", request("Transfer-Encoding: chunked\0\r\nContent-Length: 4\r\n", hidden)],
    [
      "TE.TE: folded over two lines",
      request("Transfer-Encoding:\r\n chunked\r\nContent-Length: 4\r\n", hidden),
    ],
    [
      "TE.TE: ended by a bare LF",
      request("X: y\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n", hidden),
    ],
    [
      "TE.TE: ended by a bare CR",
      request("X: y\rTransfer-Encoding: chunked\r\nContent-Length: 4\r\n", hidden),
    ],
    ["an encoding besides chunked", request("Transfer-Encoding: gzip, chunked\r\n", `0\r\n\r\n${hidden}`)],
    ["identity", request("Transfer-Encoding: identity\r\n", hidden)],
    ["chunks in HTTP/1.0", request(chunked(), `0\r\n\r\n${hidden}`, "POST /d/x/first HTTP/1.0")],
    ["two lengths that differ", request(`Content-Length: 0\r\nContent-Length: ${hidden.length}\r\n`, hidden)],
    ["two lengths that agree", request(`Content-Length: 1\r\nContent-Length: 1\r\n`, "x")],
    ["a list of lengths", request(`Content-Length: 0, ${hidden.length}\r\n`, hidden)],
    ["a length with a plus", request("Content-Length: +0\r\n", hidden)],
    ["a length with a minus", request("Content-Length: -1\r\n", hidden)],
    ["a length in hexadecimal", request("Content-Length: 0x10\r\n", hidden)],
    ["a length with a space inside", request("Content-Length: 1 0\r\n", hidden)],
    ["a length with an underscore", request("Content-Length: 1_0\r\n", hidden)],
    ["no length at all", request("Content-Length:\r\n", hidden)],
    ["a length that overflows", request("Content-Length: 18446744073709551617\r\n", hidden)],
    ["a header name with a space", request("Content Length: 4\r\n", hidden)],
    ["a header name with a NUL", request("X\0Y: 4\r\n", hidden)],
    ["a header without a name", request(": 4\r\n", hidden)],
    ["a header value with a NUL", request("X: a\0b\r\n", hidden)],
    ["a chunk with a bare LF", request(chunked(), `1\nx\r\n0\r\n\r\n${hidden}`)],
    ["a chunk size with a plus", request(chunked(), `+1\r\nx\r\n0\r\n\r\n${hidden}`)],
    ["a chunk size of 0x1", request(chunked(), `0x1\r\nx\r\n0\r\n\r\n${hidden}`)],
    ["a chunk size that overflows", request(chunked(), `fffffffffffffffff1\r\nx\r\n0\r\n\r\n${hidden}`)],
    ["a chunk longer than it said", request(chunked(), `1\r\nxyz\r\n0\r\n\r\n${hidden}`)],
    ["a chunk extension with a bare LF", request(chunked(), `1;a\nb\r\nx\r\n0\r\n\r\n${hidden}`)],
    ["a length in a trailer", request(chunked(), `3\r\nabc\r\n0\r\nContent-Length: 4\r\n\r\n${hidden}`)],
    ["no host", `POST /d/x/first HTTP/1.1\r\nContent-Length: 0\r\n\r\n${hidden}`],
    ["HTTP/2.0", request("Content-Length: 0\r\n", hidden, "POST /d/x/first HTTP/2.0")],
    ["a target with a space", request("Content-Length: 0\r\n", hidden, "POST /d/x/a b HTTP/1.1")],
    [
      "an absolute target",
      request("Content-Length: 0\r\n", hidden, "POST http://localhost/d/x/first HTTP/1.1"),
    ],
    ["a target with two slashes", request("Content-Length: 0\r\n", hidden, "POST //d/x/first HTTP/1.1")],
    [
      "an upgrade to h2c",
      request(
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
        hidden,
        "GET /d/x/first HTTP/1.1",
      ),
    ],
    [
      "an upgrade with a body",
      request(
        `Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: ${hidden.length}\r\n`,
        hidden,
        "GET /d/x/first HTTP/1.1",
      ),
    ],
    ["a head without end", request(`X: ${"y".repeat(40_000)}\r\n`, hidden)],
  ])("%s: refused", async (_name, bytes) => {
    const before = upstream.seen.length;
    const answer = await exchangeRaw(gateway.port, bytes, (text) => /^HTTP\/1\.1 [45]\d\d/.test(text));
    expect(answer === "" ? "closed" : answer.slice(9, 12)).toMatch(/^(4\d\d|closed)$/);
    const next = await exchangeRaw(
      gateway.port,
      "GET /d/x/next HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    expect(next).toMatch(/\r\n\r\n\/next$/);
    expect(upstream.seen.slice(before).map(({ path }) => path)).toEqual(["/next"]);
    expect(upstream.violations).toEqual([]);
  });

  const trailer = "0\r\nX-Trailer: 1\r\n\r\n";
  it.each<[string, string, string]>([
    ["a length", request(`Content-Length: ${hidden.length}\r\nConnection: close\r\n`, hidden), hidden],
    ["a length with spaces around", request(`Content-Length:   3  \r\nConnection: close\r\n`, "abc"), "abc"],
    [
      "a length that begins with zeros",
      request(`Content-Length: 0003\r\nConnection: close\r\n`, "abc"),
      "abc",
    ],
    ["chunks", request(chunked("Connection: close\r\n"), `3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`), "abcde"],
    [
      "chunks in other letters",
      request("tRANSFER-eNCODING: ChunkeD\r\nConnection: close\r\n", `3\r\nabc\r\n0\r\n\r\n`),
      "abc",
    ],
    [
      "chunks with extensions",
      request(chunked("Connection: close\r\n"), `3;a=b;c="d"\r\nabc\r\n0;x\r\n\r\n`),
      "abc",
    ],
    ["chunks with trailers", request(chunked("Connection: close\r\n"), `3\r\nabc\r\n${trailer}`), "abc"],
    [
      "a large body in chunks",
      request(chunked("Connection: close\r\n"), `20000\r\n${"z".repeat(0x20000)}\r\n0\r\n\r\n`),
      "z".repeat(0x20000),
    ],
    [
      "a large body with a length",
      request(`Content-Length: 200000\r\nConnection: close\r\n`, "y".repeat(200_000)),
      "y".repeat(200_000),
    ],
    [
      "a body of a GET",
      request(`Content-Length: ${hidden.length}\r\nConnection: close\r\n`, hidden, "GET /d/x/first HTTP/1.1"),
      hidden,
    ],
    [
      "a body of a DELETE",
      request(
        `Content-Length: ${hidden.length}\r\nConnection: close\r\n`,
        hidden,
        "DELETE /d/x/first HTTP/1.1",
      ),
      hidden,
    ],
    [
      "Expect: 100-continue",
      request(`Content-Length: 3\r\nExpect: 100-continue\r\nConnection: close\r\n`, "abc"),
      "abc",
    ],
    ["HTTP/1.0", request("Content-Length: 3\r\n", "abc", "POST /d/x/first HTTP/1.0"), "abc"],
    ["no body", request("Connection: close\r\n"), ""],
  ])("%s: passed on as one request", async (_name, bytes, body) => {
    const before = upstream.seen.length;
    const answer = await exchangeRaw(gateway.port, bytes);
    expect(answer).toMatch(/HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n\/first$/);
    expect(upstream.seen.slice(before).map((request) => [request.path, request.body])).toEqual([
      ["/first", body],
    ]);
    expect(upstream.violations).toEqual([]);
  });

  it("requests sent one after the other without waiting are answered one after the other", async () => {
    const three = ["a", "b", "c"].map(
      (name) => `POST /d/x/${name} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi`,
    );
    const last = "GET /d/x/last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    const answer = await exchangeRaw(gateway.port, three.join("") + last);
    expect(answer.match(/\r\n\r\n\/[a-z]+/g)?.map((text) => text.trim())).toEqual([
      "/a",
      "/b",
      "/c",
      "/last",
    ]);
  });

  it("a client that leaves in the middle of its body sends nothing that looks whole", async () => {
    const before = upstream.seen.length;
    for (const bytes of [
      request("Content-Length: 100000\r\n", "y".repeat(70_000)),
      request(chunked(), `11170\r\n${"y".repeat(70_000)}\r\n`),
      request("Content-Length: 100\r\n", "y".repeat(70)),
    ]) {
      await exchangeRaw(gateway.port, bytes, undefined, 300);
    }
    const next = await exchangeRaw(
      gateway.port,
      "GET /d/x/next HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    expect(next).toMatch(/\/next$/);
    expect(upstream.seen.slice(before).map(({ path }) => path)).toEqual(["/next"]);
    expect(gateway.inFlight()).toBe(0);
  });
});

describe("answers that are not what they should be", () => {
  const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
  /** Bytes of the answer; whether the server closes after it; what the client is answered. */
  const cases: Record<string, { says: string; closes?: boolean; status: number | "cut"; body?: string }> = {
    "no HTTP": { says: "hello\r\n\r\n", status: 502 },
    "an empty line first": { says: `\r\n${ok("x")}`, status: 200, body: "x" },
    "HTTP/2": { says: "HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n", status: 502 },
    "a status that is none": { says: "HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n", status: 502 },
    "a status of two digits": { says: "HTTP/1.1 99 OK\r\nContent-Length: 0\r\n\r\n", status: 502 },
    "a status below 100": { says: "HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n", status: 502 },
    "a length and chunks": {
      says: `HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${evil}`,
      status: 502,
    },
    "two lengths that differ": {
      says: `HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 4\r\n\r\nevil${evil}`,
      status: 502,
    },
    "a length with a plus": { says: `HTTP/1.1 200 OK\r\nContent-Length: +4\r\n\r\nevil`, status: 502 },
    "a list of lengths": { says: `HTTP/1.1 200 OK\r\nContent-Length: 4, 4\r\n\r\nevil`, status: 502 },
    "a header without a name": { says: "HTTP/1.1 200 OK\r\n: x\r\nContent-Length: 0\r\n\r\n", status: 502 },
    "a header name with a space": {
      says: "HTTP/1.1 200 OK\r\nX Y: x\r\nContent-Length: 0\r\n\r\n",
      status: 502,
    },
    "a header with a NUL": { says: "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n", status: 502 },
    "a header with a control character": {
      says: "HTTP/1.1 200 OK\r\nX: a\x01b\r\nContent-Length: 0\r\n\r\n",
      status: 502,
    },
    "a header with a bare CR": {
      says: "HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b=1\r\nContent-Length: 0\r\n\r\n",
      status: 502,
    },
    "headers without end": { says: `HTTP/1.1 200 OK\r\nX: ${"y".repeat(70_000)}\r\n\r\n`, status: 502 },
    "a change of protocol nobody asked for": {
      says: `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n${evil}`,
      status: 502,
    },
    "an end in the middle of the head": { says: "HTTP/1.1 200 OK\r\nContent-Len", closes: true, status: 502 },
    "an end before a word": { says: "", closes: true, status: 503 },
    "an end in the middle of the body": {
      says: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
      closes: true,
      status: "cut",
    },
    "an end in the middle of a chunk": {
      says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf",
      closes: true,
      status: "cut",
    },
    "a chunk size that is none": {
      says: `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n${evil}`,
      status: "cut",
    },
    "a chunk longer than it said": {
      says: `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n${evil}`,
      status: "cut",
    },
    "a hint before the answer": {
      says: `HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${ok("real")}`,
      status: 200,
      body: "real",
    },
    "a body of a 204": {
      says: `HTTP/1.1 204 No Content\r\nContent-Length: ${evil.length}\r\n\r\n${evil}`,
      status: 204,
      body: "",
    },
    "chunks of a 204": {
      says: `HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n`,
      status: 204,
      body: "",
    },
    "a body of a 304": { says: `HTTP/1.1 304 Not Modified\r\n\r\n${evil}`, status: 304, body: "" },
    "more than was asked for": { says: ok("real") + evil, status: 200, body: "real" },
    "junk after the answer": { says: `${ok("real")}junk`, status: 200, body: "real" },
    "no length": { says: "HTTP/1.1 200 OK\r\n\r\nall of it", closes: true, status: 200, body: "all of it" },
    "HTTP/1.0": { says: "HTTP/1.0 200 OK\r\n\r\nold", closes: true, status: 200, body: "old" },
    "chunks with extensions and trailers": {
      says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n",
      status: 200,
      body: "abc",
    },
    "two lengths that agree": {
      says: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
      status: 502,
    },
    "a length that Connection names": {
      says: `HTTP/1.1 200 OK\r\nConnection: content-length\r\nContent-Length: 4\r\n\r\nreal`,
      status: 200,
      body: "real",
    },
    "letters beyond ASCII": {
      says: `HTTP/1.1 200 OK\r\nX: \xe9\r\nContent-Length: 1\r\n\r\nx`,
      status: 200,
      body: "x",
    },
  };
  let upstream: RawUpstream;
  let gateway: RawGateway;
  beforeAll(async () => {
    upstream = await startRawUpstream(({ path }, socket) => {
      if (path.startsWith("/next")) return ok(path);
      const { says, closes } = cases[decodeURIComponent(path.slice(1))]!;
      if (!closes) return says;
      socket.end(Buffer.from(says, "latin1"));
      return null;
    });
    gateway = await startRawGateway(upstream.port);
  });
  afterAll(async () => {
    await gateway.close();
    await upstream.close();
  });

  it.each(Object.keys(cases))("%s", async (name) => {
    const { status, body } = cases[name]!;
    const ask = (path: string, method = "GET") =>
      exchangeRaw(
        gateway.port,
        `${method} /d/x${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      );
    // A server that ends without a word is asked a second time when nothing was to be changed, so change something.
    const answer = await ask(`/${encodeURIComponent(name)}`, "POST");
    if (status === "cut") {
      expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
      expect(answer).not.toMatch(/\r\n0\r\n\r\n$|evil/);
      expect(isWhole(answer)).toBe(false);
    } else {
      expect(answer.slice(9, 12)).toBe(String(status));
      if (status === 503) expect(answer).toMatch(/\r\nretry-after: \d/i);
      if (status === 502) expect(gateway.served.at(-1)).toEqual({ status: 502 });
      const sent = answer.slice(answer.indexOf("\r\n\r\n") + 4);
      const text = /transfer-encoding: chunked/i.test(answer) ? joinChunks(sent) : sent;
      if (body !== undefined) expect(text).toBe(body);
    }
    // Whoever comes next gets an answer of its own.
    for (const number of [1, 2]) expect(await ask(`/next/${number}`)).toMatch(new RegExp(`/next/${number}$`));
    expect(gateway.inFlight()).toBe(0);
  });
});
