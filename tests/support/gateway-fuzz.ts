import { exchangeRaw, isWhole, startRawGateway } from "./raw-gateway.ts";
import { startRawUpstream } from "./raw-upstream.ts";

export type FuzzResult = {
  exchanges: number;
  /** Answers by the first digit of their status; 0 for connections that were closed without one. */
  answers: Record<string, number>;
  passedOn: number;
  /** What went to the wrong place; empty when all is well. */
  desynchronised: string[];
};

type Random = () => number;

/** A small generator with a seed, so that what was found can be found again. */
function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296;
  };
}

const pick = <T>(random: Random, all: readonly T[]): T => all[Math.floor(random() * all.length)]!;

const tokenOf = (random: Random) =>
  Array.from({ length: 4 }, () =>
    Math.floor(random() * 0xffffffff)
      .toString(16)
      .padStart(8, "0"),
  ).join("");

const framings = [
  (body: string) => `Content-Length: ${body.length}`,
  (body: string) => `Content-Length: ${Math.max(0, body.length - 7)}`,
  (body: string) => `Content-Length: ${body.length + 3}`,
  (body: string) => `Content-Length: +${body.length}`,
  (body: string) => `Content-Length: ${body.length}, ${body.length}`,
  (body: string) => `Content-Length: ${body.length}\r\nContent-Length: 0`,
  () => "Transfer-Encoding: chunked",
  (body: string) => `Transfer-Encoding: chunked\r\nContent-Length: ${body.length}`,
  () => "Transfer-Encoding: xchunked",
  () => "Transfer-Encoding : chunked",
  () => "Transfer-Encoding:\tchunked",
  () => "Transfer-Encoding: identity, chunked",
  () => "Transfer-Encoding:\n chunked",
  () => "X: y",
];
const connections = [
  "keep-alive",
  "close",
  "keep-alive, content-length",
  "close, x-hop",
  "transfer-encoding",
  "TE",
];
const methods = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"];
const noise = [
  "\0",
  "\r",
  "\n",
  "\r\n",
  " ",
  "\t",
  ":",
  ";",
  "0",
  "\x7f",
  "\xff",
  "%2e",
  "\\",
  "chunked",
  ",",
];

/** Puts a few bytes where they do not belong, or takes some away; often nothing at all. */
function mutate(random: Random, text: string, rate: number): string {
  let result = text;
  while (random() < rate) {
    const at = Math.floor(random() * result.length);
    const cut = random() < 0.4 ? 1 + Math.floor(random() * 3) : 0;
    result = result.slice(0, at) + (random() < 0.7 ? pick(random, noise) : "") + result.slice(at + cut);
  }
  return result;
}

function requestOf(random: Random, token: string): string {
  const inner = `POST /d/x/smuggled/${token} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx`;
  const body = random() < 0.5 ? inner : `0\r\n\r\n${inner}`;
  // Half of them are well made: what is refused at the door shows nothing about the way behind it.
  const sound = random() < 0.5;
  const framing = pick(random, sound ? [framings[0]!, framings[6]!] : framings)(body);
  const sent =
    /^Transfer/i.test(framing) && (sound || random() < 0.6)
      ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
      : body;
  const head = [
    `${pick(random, methods)} /d/x/own/${token} HTTP/1.${random() < 0.9 ? 1 : 0}`,
    "Host: localhost",
    framing,
    `Connection: ${pick(random, sound ? connections.slice(0, 2) : connections)}`,
  ];
  return mutate(random, `${head.join("\r\n")}\r\n\r\n${sent}`, sound ? 0.1 : 0.35);
}

/** An answer that names its request, right or broken, sometimes followed by an answer to no request. */
function answerOf(random: Random, token: string): string {
  const body = `for=${token};`;
  const stray = random() < 0.2 ? `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}` : "";
  const head = `HTTP/1.1 ${pick(random, ["200 OK", "200 OK", "201 Created", "204 No Content", "304 Not Modified", "404 Not Found"])}`;
  const text =
    random() < 0.5
      ? `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      : `${head}\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  return mutate(random, text, 0.25) + stray;
}

/**
 * Sends broken requests, several at a time, to a server that gives broken answers. Nobody may get an answer that
 * names somebody else, and the server may see no request that the gateway did not take for one.
 */
export async function fuzzGateway(options: { exchanges: number; seed: number }): Promise<FuzzResult> {
  const random = randomOf(options.seed);
  const upstream = await startRawUpstream(({ path }, socket) => {
    const token = /\/(\w+)$/.exec(path)?.[1] ?? "nobody";
    if (path.startsWith("/probe/"))
      return `HTTP/1.1 200 OK\r\nContent-Length: ${token.length + 5}\r\n\r\nfor=${token};`;
    const bytes = Buffer.from(answerOf(random, token), "latin1");
    // Half an answer is never completed otherwise.
    if (random() < 0.3) {
      socket.end(bytes);
      return null;
    }
    setTimeout(() => socket.end(), 60).unref();
    return bytes;
  });
  const gateway = await startRawGateway(upstream.port);
  const answers: Record<string, number> = {};
  const desynchronised: string[] = [];
  const issued = new Set<string>();
  let next = 0;
  const worker = async () => {
    while (next < options.exchanges) {
      next += 1;
      // Long and at random: no slip of a byte turns one into another's.
      const token = tokenOf(random);
      issued.add(token);
      const answer = await exchangeRaw(gateway.port, requestOf(random, token), isWhole, 500);
      const digit = answer === "" ? "0" : (/^HTTP\/1\.1 (\d)/.exec(answer)?.[1] ?? "?");
      answers[digit] = (answers[digit] ?? 0) + 1;
      for (const [, named] of answer.matchAll(/for=(\w+);/g)) {
        if (named !== token && issued.has(named!))
          desynchronised.push(`${token} was told what was for ${named}`);
      }
      if (random() < 0.1) {
        const probe = await exchangeRaw(
          gateway.port,
          `GET /d/x/probe/p${token} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
        );
        if (!probe.includes(`for=p${token};`))
          desynchronised.push(`a probe after ${token} was told ${JSON.stringify(probe)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  // Each request the server saw must be one the gateway took for a request.
  const taken = new Map<string, number>();
  for (const what of gateway.forwarded) taken.set(what, (taken.get(what) ?? 0) + 1);
  for (const { method, path } of upstream.seen) {
    const what = `${method} ${path}`;
    // A read may be asked again when its connection was just closed.
    const left = (taken.get(what) ?? 0) - (/^(GET|HEAD|OPTIONS) /.test(what) ? 0.5 : 1);
    if (left < 0) desynchronised.push(`the server saw ${what}, which nobody asked for`);
    taken.set(what, left);
  }
  desynchronised.push(...upstream.violations);
  const passedOn = upstream.seen.length;
  await gateway.close();
  await upstream.close();
  return { exchanges: next, answers, passedOn, desynchronised };
}
