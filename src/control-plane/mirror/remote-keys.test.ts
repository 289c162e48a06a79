import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createFakeMonotonicClock } from "../../../tests/support/fake-monotonic-clock.ts";
import { AcceptedCredentials } from "./accepted-credentials.ts";
import { PlatformClient } from "./platform-client.ts";
import { RemoteKeys } from "./remote-keys.ts";

const nobody = { caller: null, refusal: "Unknown." };
const chosen = "what-somebody-chose";

let platform: Server;
let answer: { status: number; body: unknown };
let questions: unknown[];
let clock: ReturnType<typeof createFakeMonotonicClock>;
let keys: RemoteKeys;
beforeEach(async () => {
  questions = [];
  platform = createServer(async (request, response) => {
    const text = (await request.toArray()).join("");
    questions.push((JSON.parse(text) as { api_key: string }).api_key);
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => platform.listen(0, "127.0.0.1", resolve));
  const { port } = platform.address() as AddressInfo;
  clock = createFakeMonotonicClock();
  const client = new PlatformClient({
    ...{ url: `http://127.0.0.1:${port}`, apiKey: "the listener's", listenerId: crypto.randomUUID() },
  });
  const isLocal = async (text: string) => text.startsWith("trk_");
  keys = new RemoteKeys({ client, accepted: new AcceptedCredentials(), isLocal, clock });
});
afterEach(() => new Promise((resolve) => platform.close(resolve)));

const says = (is_credential: boolean, has_chosen_keys: boolean) => {
  answer = { status: 200, body: { ...nobody, is_credential, has_chosen_keys } };
};

it("asks nothing about what cannot be a chosen key", async () => {
  says(true, true);
  expect(await keys.has("trk_anything")).toBe(true);
  for (const text of [
    "short",
    "Basic dXNlcjpwYXNzd29yZA==",
    "eyJhbGciOiJub25lIn0.eyJpc3MiOiJtZSJ9.x",
    "ü".repeat(20),
  ])
    expect(await keys.has(text)).toBe(false);
  expect(questions).toEqual([]);
});

it("remembers a key for good, and asks about others again and again", async () => {
  says(true, true);
  expect(await keys.has(chosen)).toBe(true);
  says(false, true);
  expect([await keys.has(chosen), await keys.has("one-of-the-project")]).toEqual([true, false]);
  expect(await keys.has("one-of-the-project")).toBe(false);
  expect(questions).toEqual([chosen, "one-of-the-project"]);
  await clock.advance(31_000);
  says(true, true);
  expect(await keys.has("one-of-the-project")).toBe(true);
});

it("sends no tokens of projects to a platform that has no chosen keys", async () => {
  says(false, false);
  for (let count = 0; count < 5; count += 1)
    expect(await keys.has(`one-of-the-project-${count}`)).toBe(false);
  expect(questions).toHaveLength(1);
  await clock.advance(31_000);
  answer = { status: 503, body: {} };
  // What it said last holds.
  expect(await keys.has("one-more-of-the-project")).toBe(false);
  await clock.advance(11_000);
  says(true, true);
  expect(await keys.has(chosen)).toBe(true);
  says(false, true);
  expect(await keys.has("one-more-of-the-project")).toBe(false);
  expect(questions.slice(-2)).toEqual([chosen, "one-more-of-the-project"]);
});

it("passes nothing on that could be a key while the platform cannot say, and does not wait for it each time", async () => {
  answer = { status: 503, body: {} };
  for (let count = 0; count < 3; count += 1)
    await expect(keys.has(chosen)).rejects.toMatchObject({ code: "listener.platform_away" });
  expect(questions).toHaveLength(1);
  await clock.advance(11_000);
  says(true, true);
  expect(await keys.has(chosen)).toBe(true);
});

it("believes a platform that says less what it knows of callers", async () => {
  answer = { status: 200, body: nobody };
  expect(await keys.has(chosen)).toBe(false);
  expect(await keys.has("one-of-the-project")).toBe(false);
  expect(questions).toHaveLength(2);
});
