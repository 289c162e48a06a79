import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { createTestApp } from "../support/app.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Frame, readEvents, readFrames, sendCommand } from "../support/protocol-client.ts";
import { allChannels, checkOrder, isTerminal, type WireEvent } from "../support/protocol-events.ts";
import { protocolGraphs } from "../support/protocol-graphs.ts";
import { openSocket, type Received } from "../support/protocol-socket.ts";

let base: TestDatabase;
let server: TestAgentServer;

const startServer = async () =>
  startTestAgentServer(base.url, { graphs: new GraphRegistry(await protocolGraphs()) });
const say = (text: string) => ({ messages: [{ role: "user", content: text }] });
const connectTo = (threadId: string, path = "stream/events") =>
  openSocket(server.url, `/threads/${threadId}/${path}`);
const terminals = (received: Received[]) =>
  received.filter((item) => item.kind === "event" && isTerminal(item.event)).length;
const ended = (events: WireEvent[]) => events.some(isTerminal);

beforeAll(async () => {
  base = await createTestDatabase();
  server = await startServer();
});

afterAll(async () => {
  await server?.stop();
  await base?.drop();
});

describe("a WebSocket", () => {
  it.each(["stream/events", "stream"])("carries commands and events at %s, as SSE does", async (path) => {
    const threadId = randomUUID();
    const line = await connectTo(threadId, path);
    expect(await line.ask("subscription.subscribe", { channels: allChannels })).toMatchObject({
      type: "success",
      result: { subscription_id: expect.any(String), replayed_events: 0 },
    });
    const [started, overSse] = await Promise.all([
      line.ask("run.start", { assistant_id: "agent", input: say("research agents") }),
      readEvents(server.url, threadId, ended),
    ]);
    expect(started).toMatchObject({ type: "success", meta: { thread_id: threadId } });
    await line.until((received) => terminals(received) === 1);
    checkOrder(line.events());
    expect(line.events()).toEqual(overSse);
    await line.close();
  });

  it("answers a subscription before it replays, and says how much that is", async () => {
    const threadId = randomUUID();
    await sendCommand(server.url, threadId, "run.start", { assistant_id: "slow", input: { pause: 0 } });
    const expected = await readEvents(server.url, threadId, ended, { channels: ["values", "lifecycle"] });
    const line = await connectTo(threadId);
    const answer = await line.ask("subscription.subscribe", { channels: ["values", "lifecycle"] });
    expect(answer.result).toMatchObject({ replayed_events: expected.length });
    await line.until((received) => terminals(received) === 1);
    expect(line.received[0]).toMatchObject({ kind: "answer" });
    expect(line.events()).toEqual(expected);
    await line.close();
  });

  it("replays for each subscription, and sends a live event once for all of them", async () => {
    const threadId = randomUUID();
    const line = await connectTo(threadId);
    await line.ask("subscription.subscribe", { channels: ["lifecycle"] });
    await line.ask("subscription.subscribe", { channels: ["lifecycle", "values"] });
    await line.ask("run.start", { assistant_id: "slow", input: { pause: 0 } });
    await line.until((received) => terminals(received) === 1);
    const live = line.events().length;
    expect(new Set(line.events().map((event) => event.seq)).size).toBe(live);
    await line.ask("subscription.subscribe", { channels: ["lifecycle"] });
    await line.until((received) => terminals(received) === 2);
    expect(
      line
        .events()
        .slice(live)
        .map((event) => event.method),
    ).toEqual(["lifecycle", "lifecycle"]);
    await line.close();
  });

  it("replays once, in order, for subscriptions that come together", async () => {
    const threadId = randomUUID();
    await sendCommand(server.url, threadId, "run.start", { assistant_id: "slow", input: { pause: 0 } });
    const channels = ["values", "lifecycle"];
    const expected = await readEvents(server.url, threadId, ended, { channels });
    const line = await connectTo(threadId);
    const answers = await Promise.all([
      line.ask("subscription.subscribe", { channels: ["lifecycle"] }),
      line.ask("subscription.subscribe", { channels: ["nope"] }),
      line.ask("subscription.subscribe", { channels }),
      line.ask("agent.getTree", {}),
    ]);
    expect(answers.map(({ type }) => type)).toEqual(["success", "error", "success", "success"]);
    expect(
      answers.map(({ result }) => result?.replayed_events).filter((count) => count !== undefined),
    ).toEqual([expected.filter(({ method }) => method === "lifecycle").length, expected.length]);
    expect(line.events()).toEqual(expected);
    await line.close();
  });

  it("gives a client that listens to the ends of runs a moment to listen to the rest", async () => {
    const threadId = randomUUID();
    await sendCommand(server.url, threadId, "run.start", { assistant_id: "slow", input: { pause: 0 } });
    const channels = ["values", "lifecycle"];
    const expected = await readEvents(server.url, threadId, ended, { channels });
    const inOrder = async () => {
      const line = await connectTo(threadId);
      await line.ask("subscription.subscribe", { channels: ["lifecycle", "input"] });
      await line.ask("subscription.subscribe", { channels });
      await line.until((received) => terminals(received) >= 1 && line.events().length >= expected.length);
      const first = line.events().slice(0, expected.length);
      await line.close();
      return isDeepStrictEqual(first, expected);
    };
    // The moment is short, and this machine may be busy.
    let tries = 0;
    while (!(await inOrder())) expect(++tries).toBeLessThan(10);
  });

  it("is silent after unsubscribe", async () => {
    const threadId = randomUUID();
    const line = await connectTo(threadId);
    const { result } = await line.ask("subscription.subscribe", { channels: ["values"] });
    await line.ask("subscription.subscribe", { channels: ["lifecycle"] });
    expect(await line.ask("subscription.unsubscribe", result)).toMatchObject({ type: "success", result: {} });
    expect(await line.ask("subscription.unsubscribe", result)).toMatchObject({
      error: "no_such_subscription",
    });
    await line.ask("run.start", { assistant_id: "slow", input: { pause: 0 } });
    await line.until((received) => terminals(received) === 1);
    expect(line.events().map((event) => event.method)).toEqual(["lifecycle", "lifecycle"]);
    await line.close();
  });

  it("restores the subscriptions of a lost connection after the last event it had", async () => {
    const threadId = randomUUID();
    const first = await connectTo(threadId);
    const { result } = await first.ask("subscription.subscribe", { channels: ["values", "lifecycle"] });
    const started = await first.ask("run.start", { assistant_id: "slow", input: { pause: 60 } });
    await first.until((received) => received.filter((item) => item.kind === "event").length >= 3);
    const heard = first.events();
    first.socket.terminate();
    const second = await connectTo(threadId);
    const back = await second.ask("subscription.reconnect", {
      run_id: started.result!.run_id,
      last_event_id: heard.at(-1)!.event_id,
      subscriptions: [result!.subscription_id],
    });
    expect(back.result).toMatchObject({ restored: true, missed_events: expect.any(Number) });
    expect(back.result!.current_namespaces).toContainEqual({ namespace: [], status: expect.any(String) });
    await second.until((received) => terminals(received) === 1);
    const all = await readEvents(server.url, threadId, ended, { channels: ["values", "lifecycle"] });
    expect([...heard, ...second.events()]).toEqual(all);
    expect(await second.ask("subscription.reconnect", { run_id: randomUUID() })).toMatchObject({
      error: "no_such_run",
    });
    await second.close();
  });

  it.each([
    ["no JSON", "{"],
    ["a list", "[]"],
    ["a number", "42"],
    ["no method", '{"id":1}'],
    [
      "what is nested too deeply",
      `{"id":1,"method":"run.start","params":{"assistant_id":"echo","input":{"x":${"[".repeat(600)}${"]".repeat(600)}}}}`,
    ],
    ["an unknown command", '{"id":2,"method":"subscription.maybe"}'],
    ["a bad filter", '{"id":3,"method":"subscription.subscribe","params":{"channels":["nope"]}}'],
  ])("answers %s with an error and stays open", async (_name, frame) => {
    const line = await connectTo(randomUUID());
    line.send(frame);
    await line.until((received) => received.length === 1);
    expect(line.received[0]).toMatchObject({
      kind: "answer",
      answer: { type: "error", message: expect.any(String) },
    });
    line.socket.send(Buffer.from([0xff, 0x00, 0x01]));
    await line.until((received) => received.length === 2);
    expect(await line.ask("agent.getTree", {})).toMatchObject({ error: "no_such_run" });
    await line.close();
  });

  it("hears nothing of a thread that belongs to another workspace", async () => {
    const threadId = randomUUID();
    const line = await connectTo(threadId);
    await line.ask("subscription.subscribe", { channels: ["values"] });
    await server.database.transaction(async (tx) => {
      await tx
        .insertInto("threads")
        .values({ thread_id: threadId, workspace_id: randomUUID() } as never)
        .execute();
    });
    expect(await line.ask("state.get", { namespace: [] })).toMatchObject({ error: "no_such_run" });
    expect(await line.ask("run.start", { assistant_id: "echo", input: say("x") })).toMatchObject({
      type: "error",
    });
    const response = await fetch(`${server.url}/threads/${threadId}/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"channels":["values"]}',
    });
    expect(response.status).toBe(404);
    expect(line.events()).toEqual([]);
    await line.close();
  });
});

describe("an upgrade is refused", () => {
  const statusOf = (path: string, headers: Record<string, string> = {}) =>
    new Promise<number | undefined>((resolve, reject) => {
      const socket = new WebSocket(`${server.url.replace(/^http/, "ws")}${path}`, { headers });
      socket.once("unexpected-response", (_request, response) => {
        resolve(response.statusCode);
        response.destroy();
      });
      socket.once("open", () => reject(new Error("It was let in.")));
      socket.once("error", () => undefined);
    });

  it("404 elsewhere", async () => {
    expect(await statusOf("/threads/x/runs")).toBe(404);
  });

  it("422 for a thread id that is no UUID", async () => {
    expect(await statusOf("/threads/mine/stream")).toBe(422);
  });

  it("403 for a page of another site", async () => {
    expect(await statusOf(`/threads/${randomUUID()}/stream`, { origin: "https://evil.example" })).toBe(403);
  });
});

describe("on the platform", () => {
  const statusWith = (url: string, headers: Record<string, string>) =>
    new Promise<number>((resolve) => {
      const socket = new WebSocket(`${url.replace(/^http/, "ws")}/threads/${randomUUID()}/stream`, {
        headers,
      });
      socket.once("open", () => {
        resolve(101);
        socket.close();
      });
      socket.once("unexpected-response", (_request, response) => {
        resolve(response.statusCode ?? 0);
        response.destroy();
      });
      socket.once("error", () => undefined);
    });

  it("a WebSocket needs a credential wherever a request does", async () => {
    const app = await createTestApp({ agentAuthRequired: true });
    const url = await app.listen();
    expect(await statusWith(url, {})).toBe(401);
    expect(await statusWith(url, { "x-api-key": "wrong-key-wrong-key" })).toBe(401);
    expect(await statusWith(url, { "x-api-key": app.apiKey })).toBe(101);
    await app.stop();
  });
});

it("a client that never reads holds nobody up", async () => {
  const threadId = randomUUID();
  const { hostname, port } = new URL(server.url);
  const deaf = connect({ host: hostname, port: Number(port) });
  await once(deaf, "connect");
  deaf.write(
    `GET /threads/${threadId}/stream HTTP/1.1\r\nHost: ${hostname}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}\r\n\r\n`,
  );
  await once(deaf, "data");
  deaf.write(
    maskedFrame(
      JSON.stringify({ id: 1, method: "subscription.subscribe", params: { channels: ["values"] } }),
    ),
  );
  await once(deaf, "data");
  deaf.pause();
  const big = "x".repeat(500_000);
  for (let round = 0; round < 4; round++) {
    await sendCommand(server.url, threadId, "run.start", {
      assistant_id: "echo",
      input: say(`${round}${big}`),
    });
  }
  const events = await readEvents(server.url, threadId, (all) => all.filter(isTerminal).length === 4, {
    channels: ["values", "lifecycle"],
  });
  checkOrder(events);
  deaf.destroy();
});

/** Masked with zeros, so that the payload stays as it is. */
function maskedFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const head = Buffer.from([0x81, 0x80 | 126, payload.length >> 8, payload.length & 255, 0, 0, 0, 0]);
  return Buffer.concat([head, payload]);
}

it("what was pruned is said to whoever asks for it", async () => {
  const threadId = randomUUID();
  await sendCommand(server.url, threadId, "run.start", { assistant_id: "slow", input: { pause: 0 } });
  const all = await readEvents(server.url, threadId, ended);
  const cut = all[5]!.seq;
  await server.database.transaction(async (tx) => {
    await tx
      .deleteFrom("thread_events")
      .where("thread_id", "=", threadId)
      .where("number", "<=", cut)
      .execute();
    await tx
      .updateTable("threads")
      .set({ pruned_protocol_seq: cut })
      .where("thread_id", "=", threadId)
      .execute();
  });
  const read = (since: number | undefined, enough: (frames: Frame[]) => boolean) =>
    readFrames(
      `${server.url}/threads/${threadId}/stream/events`,
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ channels: allChannels, since }),
      },
      enough,
    );
  const whole = (count: number) => (frames: Frame[]) => frames.length >= count;
  const kept = all.length - 6;
  const [gap, ...rest] = await read(2, whole(kept + 1));
  expect(gap).toMatchObject({ event: "error", data: { type: "error", id: null, error: "invalid_argument" } });
  expect(rest.map((frame) => frame.data)).toEqual(all.slice(6));
  expect((await read(undefined, whole(kept))).map((frame) => frame.data)).toEqual(all.slice(6));
  expect((await read(cut, whole(kept)))[0]!.data).toEqual(all[6]);
});

it("a server that stops says so, and its clients find everything on the next one", async () => {
  const threadId = randomUUID();
  const line = await connectTo(threadId);
  await line.ask("subscription.subscribe", { channels: ["lifecycle"] });
  await line.ask("subscription.subscribe", { channels: ["updates"] });
  await line.ask("run.start", { assistant_id: "slow", input: { pause: 200 } });
  await line.until((received) =>
    received.some((item) => item.kind === "event" && item.event.method === "updates"),
  );
  await server.stop();
  expect(await line.closed).toBe(1001);
  server = await startServer();
  const events = await readEvents(server.url, threadId, ended);
  checkOrder(events);
  const again = events.findLastIndex(
    (event) => event.method === "lifecycle" && event.params.data.event === "running",
  );
  expect(again).toBeGreaterThan(0);
  expect(events[again + 1]!.method).toBe("values");
  const state = await server.client.threads.getState<{ steps: string[] }>(threadId);
  expect(state.values.steps.map((step) => step.split("@")[0])).toEqual(["one", "two", "three"]);
});
