import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { BuildLines } from "./build-lines.ts";
import { PlatformCalls } from "./platform-calls.ts";

type Seen = { path: string; body: string };
let server: Server;
let seen: Seen[] = [];
let answer: (seen: Seen) => { status: number; code?: string };
let calls: PlatformCalls;
beforeAll(async () => {
  server = createServer(async (request, response) => {
    const one = { path: request.url ?? "", body: await text(request) };
    seen.push(one);
    const { status, code } = answer(one);
    response.writeHead(status, code ? { "x-error-code": code } : {}).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  calls = new PlatformCalls({ url, token: "token", firstPauseMs: 1 });
});
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  seen = [];
  answer = () => ({ status: 204 });
});

const hour = { awayMs: 3_600_000 };

it("goes on as long as there is time while the platform is away or busy", async () => {
  answer = () => ({ status: seen.length < 6 ? 503 : seen.length < 12 ? 429 : 204 });
  await calls.attempt(() => calls.post("/failure", {}), hour);
  expect(seen).toHaveLength(12);
});

it("ends with the last failure when the time is over, and at once with what is refused", async () => {
  answer = () => ({ status: 503 });
  await expect(calls.attempt(() => calls.post("/failure", {}), { awayMs: 0 })).rejects.toThrow(/answers 503/);
  expect(seen).toHaveLength(1);
  answer = () => ({ status: 404, code: "build.unknown" });
  await expect(calls.attempt(() => calls.post("/failure", {}), hour)).rejects.toMatchObject({
    code: "build.unknown",
  });
  expect(seen).toHaveLength(2);
});

it("gives all lines together one time to wait, and then tries what comes once", async () => {
  const lines = new BuildLines(calls, 50);
  const add = (count: number) => {
    for (let line = 0; line < count; line += 1) lines.add({ text: `line ${line}`, origin: "project" });
  };
  answer = () => ({ status: 503 });
  add(5_000);
  await lines.end();
  const batches = new Set(seen.map(({ body }) => body)).size;
  expect(batches).toBe(1);
  seen = [];
  add(1);
  await lines.end();
  expect(seen).toHaveLength(1);
  seen = [];
  answer = () => ({ status: 204 });
  add(1);
  await lines.end();
  expect(linesIn(seen)).toEqual([
    "5001 lines were left out: too many at once, or the platform was away.",
    "line 0",
  ]);
});

it("gives a batch that is sent again the number it had, and the next one another", async () => {
  const lines = new BuildLines(calls);
  // The platform has stored it, and its answer is lost.
  let lost = 1;
  answer = () => ({ status: lost-- > 0 ? 503 : 204 });
  for (const text of ["one", "two"]) {
    lines.add({ text, origin: "project" });
    await lines.end();
  }
  const sent = seen.map(({ body }) => JSON.parse(body) as { batch: { sender: string; number: number } });
  expect(sent.map(({ batch }) => batch.number)).toEqual([1, 1, 2]);
  expect(new Set(sent.map(({ batch }) => batch.sender)).size).toBe(1);
});

it("splits texts into lines, and sends only how far the build is once the log is full", async () => {
  const lines = new BuildLines(calls);
  lines.add({ text: "one\ntwo\n", origin: "project" });
  await lines.end();
  expect(linesIn(seen)).toEqual(["one", "two", ""]);
  answer = () => ({ status: 413, code: "build.log_full" });
  for (const text of ["three", "four"]) {
    lines.add({ text, origin: "project" });
    await lines.end();
  }
  lines.add({ text: "Installing", origin: "platform", progress: 30 });
  await lines.end();
  expect(linesIn(seen)).toEqual(["one", "two", "", "three", "Installing"]);
});

function linesIn(sent: Seen[]): string[] {
  return sent.flatMap(({ body }) =>
    (JSON.parse(body) as { lines: { text: string }[] }).lines.map((line) => line.text),
  );
}
