import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { type RunningAgent, startAgent } from "../support/agent-command.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type RawGateway, startRawGateway } from "../support/raw-gateway.ts";

// Real servers on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });

const journal = fileURLToPath(new URL("../fixtures/projects/journal/langgraph.json", import.meta.url));

let database: TestDatabase;
let leaving: RunningAgent;
let staying: RunningAgent;
let gateway: RawGateway;
let alone: RawGateway;
/** That of one test: after a refusal a gateway asks others first for a while. */
let fresh: RawGateway | undefined;
/** Keeps the first server from ending: a request whose body does not come. */
let holding: Socket;

beforeAll(async () => {
  database = await createTestDatabase();
  const env = { DATABASE_URL: database.url, LG_WEBHOOK_TOKEN: "a-token-for-receivers" };
  leaving = await startAgent(journal, { ...env, BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "600" });
  staying = await startAgent(journal, env);
  gateway = await startRawGateway(leaving.ready.port, staying.ready.port);
  alone = await startRawGateway(leaving.ready.port);
  holding = connect(leaving.ready.port, "127.0.0.1");
  holding.on("error", () => undefined);
  holding.write("POST /threads HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n");
  holding.write("expect: 100-continue\r\ncontent-length: 1000\r\n\r\n");
  // It has taken the request.
  expect(String((await once(holding, "data"))[0])).toMatch(/^HTTP\/1.1 100 /);
  for (let count = 0; count < 4; count += 1) expect((await makeThread(gateway)).status).toBe(200);
  leaving.process.signal("SIGTERM");
  await waitUntil(
    async () => {
      const answer = await fetch(`${leaving.ready.url}/ok`).catch(() => null);
      return answer?.status === 503 && answer.headers.get("x-error-code") === "server.leaving";
    },
    { timeoutMs: 60_000, what: "the first server to refuse requests" },
  );
});

afterAll(async () => {
  holding?.destroy();
  await gateway?.close();
  await alone?.close();
  await leaving?.process.kill();
  await staying?.process.kill();
  await database?.drop();
});

afterEach(async () => {
  await fresh?.close();
  fresh = undefined;
});

/** One that does not know yet which of the two is leaving. */
async function freshGateway(): Promise<RawGateway> {
  fresh = await startRawGateway(leaving.ready.port, staying.ready.port);
  return fresh;
}

const urlOf = ({ port }: RawGateway) => `http://127.0.0.1:${port}/d/any`;

function makeThread(through: RawGateway, body = JSON.stringify({ metadata: { made: "here" } })) {
  const headers = { "content-type": "application/json" };
  return fetch(`${urlOf(through)}/threads`, { method: "POST", headers, body });
}

describe("while one of two endpoints is stopping", () => {
  it("every request is answered by the other one, with its body, on kept and on new connections", async () => {
    // Each worker begins with another endpoint, and so does each of its requests.
    const worker = async () => {
      for (let count = 0; count < 10; count += 1) {
        const made = await makeThread(gateway);
        expect(made.status).toBe(200);
        expect(await made.json()).toMatchObject({ metadata: { made: "here" } });
        expect((await fetch(`${urlOf(gateway)}/ok`)).status).toBe(200);
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
    expect(gateway.avoided).toContain(`${leaving.ready.port}`);
  });

  it("a body of 60 kB arrives whole", async () => {
    const through = await freshGateway();
    const metadata = { text: "x".repeat(60_000) };
    // One after the other they begin with each endpoint in turn.
    for (let count = 0; count < 4; count += 1) {
      const made = await makeThread(through, JSON.stringify({ metadata }));
      expect(await made.json()).toMatchObject({ metadata });
    }
    expect(through.avoided).toContain(`${leaving.ready.port}`);
  });

  it("a WebSocket opens at the other one", async () => {
    const { thread_id: thread } = (await (await makeThread(gateway)).json()) as { thread_id: string };
    const through = await freshGateway();
    for (let count = 0; count < 4; count += 1) {
      const socket = new WebSocket(`${urlOf(through).replace("http", "ws")}/threads/${thread}/stream`);
      await once(socket, "open");
      socket.close();
      await once(socket, "close");
    }
    expect(through.avoided).toContain(`${leaving.ready.port}`);
  });

  it("where there is no other one, the client is asked to come again", async () => {
    const answer = await makeThread(alone);
    expect([answer.status, answer.headers.get("x-error-code")]).toEqual([503, "gateway.unreachable"]);
    expect(answer.headers.get("retry-after")).toBe("1");
    const socket = new WebSocket(`${urlOf(alone).replace("http", "ws")}/threads/x/stream`);
    const [, refusal] = await once(socket, "unexpected-response");
    expect(refusal.statusCode).toBe(503);
    expect(alone.inFlight()).toBe(0);
  });

  it("what was passed on in parts is not sent twice: its refusal is passed on", async () => {
    const parts = async function* () {
      // Together more than a gateway keeps, and no more than a stopping server reads before it closes the connection:
      // with bytes unread its refusal may be lost.
      yield new TextEncoder().encode(`{"metadata":{"text":"${"x".repeat(65_500)}`);
      yield new TextEncoder().encode(`${"x".repeat(100)}"}}`);
    };
    const headers = { "content-type": "application/json" };
    const body = ReadableStream.from(parts());
    const answer = await fetch(`${urlOf(alone)}/threads`, {
      ...{ method: "POST", headers, body, duplex: "half" },
    } as RequestInit);
    expect([answer.status, answer.headers.get("x-error-code")]).toEqual([503, "server.leaving"]);
  });
});
