import { createServer, type Socket } from "node:net";

export type RawRequest = { method: string; path: string; headers: [string, string][]; body: string };

export type RawUpstream = {
  port: number;
  /** Everything that was asked, in order. */
  seen: RawRequest[];
  /** What was not written as one request in the only way a strict server reads it. */
  violations: string[];
  close(): Promise<void>;
};

const token = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/i;

/**
 * A server on bare TCP that reads requests as strictly as can be and writes down every deviation: whatever a gateway
 * passes on must be readable in one way only. The test decides what it answers, and whether the connection stays open.
 */
export async function startRawUpstream(
  answer: (request: RawRequest, socket: Socket) => string | Buffer | null,
): Promise<RawUpstream> {
  const seen: RawRequest[] = [];
  const violations: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // The gateway resets connections it does not want to go on with.
    socket.on("error", () => undefined);
    let held = Buffer.alloc(0);
    socket.on("data", (bytes) => {
      held = Buffer.concat([held, bytes]);
      for (;;) {
        const read = readRequest(held, violations);
        if (read === null) return;
        held = held.subarray(read.length);
        seen.push(read.request);
        const said = answer(read.request, socket);
        if (said !== null && !socket.destroyed) socket.write(said);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    seen,
    violations,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function readRequest(bytes: Buffer, violations: string[]): { request: RawRequest; length: number } | null {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return null;
  const head = bytes.toString("latin1", 0, end);
  const [line = "", ...lines] = head.split("\r\n");
  const wrong = (what: string) => violations.push(`${what} in ${JSON.stringify(head)}`);
  const [, method = "", path = ""] = /^([A-Z]+) (\/[\x21-\xff]*) HTTP\/1\.1$/.exec(line) ?? [];
  if (method === "") wrong("the request line");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  if (/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|[^\r]\n|\r[^\n]/.test(head)) wrong("a control character");
  const headers = lines.map((text): [string, string] => {
    const colon = text.indexOf(":");
    const name = text.slice(0, colon);
    if (colon < 1 || !token.test(name)) wrong("the name of a header");
    return [name.toLowerCase(), text.slice(colon + 1).trim()];
  });
  const all = (name: string) => headers.filter(([known]) => known === name).map(([, value]) => value);
  const [lengths, encodings] = [all("content-length"), all("transfer-encoding")];
  if (all("host").length !== 1) wrong("the number of hosts");
  if (lengths.length + encodings.length > 1) wrong("more than one framing");
  if (lengths.some((value) => !/^\d+$/.test(value))) wrong("the length");
  if (encodings.some((value) => value !== "chunked")) wrong("the encoding");
  const start = end + 4;
  if (encodings.length === 0) {
    const size = Number(lengths[0] ?? 0);
    if (bytes.length < start + size) return null;
    const body = bytes.toString("latin1", start, start + size);
    return { request: { method, path, headers, body }, length: start + size };
  }
  const chunked = readChunks(bytes, start, () => wrong("a chunk"));
  return chunked && { request: { method, path, headers, body: chunked.body }, length: chunked.end };
}

function readChunks(bytes: Buffer, start: number, wrong: () => void): { body: string; end: number } | null {
  let at = start;
  let body = "";
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd === -1) return null;
    const digits = bytes.toString("latin1", at, lineEnd);
    if (!/^[0-9a-f]{1,8}$/i.test(digits)) wrong();
    const size = Number.parseInt(digits, 16) || 0;
    const dataStart = lineEnd + 2;
    if (bytes.length < dataStart + size + 2) return null;
    if (bytes.toString("latin1", dataStart + size, dataStart + size + 2) !== "\r\n") wrong();
    if (size === 0) return { body, end: dataStart + 2 };
    body += bytes.toString("latin1", dataStart, dataStart + size);
    at = dataStart + size + 2;
  }
}
