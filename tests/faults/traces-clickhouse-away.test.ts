import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { type ClickHouse, startClickHouse } from "../support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../support/components/clickhouse-library.ts";
import { sampleChild, samplePost } from "../support/traces-app.ts";

let server: ClickHouse;
let app: TestApp;

// The first run on a machine fetches ClickHouse. It is not there yet when the application starts.
beforeAll(async () => {
  server = await startClickHouse();
  const url = await server.createDatabase();
  await server.kill();
  app = await createTestApp({ clickHouse: { url, cluster: undefined } });
}, clickHouseStartLimitMs);
afterAll(async () => {
  await app?.stop();
  await server?.stop();
});

/** A root and a model call below it, whose tokens must be counted once however often it is sent. */
function trace() {
  const root = samplePost({ start_time: new Date().toISOString().replace("Z", "000Z") });
  const usage = { usage_metadata: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } };
  return [root, sampleChild(root, { run_type: "llm", outputs: usage })];
}
const send = (post: unknown[]) => app.call("POST", "/api/v1/runs/batch", { body: { post } });
const totalOf = async (id: string) =>
  (await app.call<{ total_tokens?: number }>("GET", `/api/v1/runs/${id}`)).body.total_tokens;

describe("ClickHouse that is away at the start", () => {
  test("holds up traces alone: they get 503 and when to come again, the rest is served and says so", async () => {
    for (const [method, path, body] of [
      ["POST", "/api/v1/runs/batch", { post: trace() }],
      ["GET", `/api/v1/runs/${randomUUID()}`, undefined],
    ] as const) {
      const answer = await app.call(method, path, { body });
      expect([path, answer.status, answer.headers.get("x-error-code")]).toEqual([
        path,
        503,
        "database.unavailable",
      ]);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    const { body: project } = await app.call<{ id: string }>("POST", "/api/v1/sessions", {
      body: { name: "to be deleted" },
    });
    expect((await app.call("DELETE", `/api/v1/sessions/${project.id}`)).status).toBe(202);
    expect((await app.call("GET", `/api/v1/sessions/${project.id}`)).status).toBe(404);
    expect((await app.call("GET", "/v2/deployments")).status).toBe(200);
    expect((await app.call("GET", "/ok")).status).toBe(200);
    await app.listen();
    await expect
      .poll(async () => (await app.call("GET", "/ready")).body)
      .toMatchObject({ ready: true, problems: ["clickhouse.unavailable"] });
    expect((await app.call("GET", "/info")).body).toMatchObject({
      metadata: { traces: { engine: "clickhouse", problem: "clickhouse.unavailable" } },
    });
  });

  test("is used as soon as it is there", async () => {
    await server.restart();
    const posts = trace();
    expect((await send(posts)).status).toBe(202);
    expect(await totalOf(posts[0]!.id)).toBe(2);
    await expect
      .poll(async () => (await app.call("GET", "/info")).body)
      .toMatchObject({ metadata: { traces: { engine: "clickhouse", problem: null } } });
  });
});

describe("ClickHouse that is killed during ingestion", () => {
  test("loses nothing that was acknowledged, and counts nothing twice", { timeout: 300_000 }, async () => {
    const acknowledged: string[] = [];
    const refused = new Set<number>();
    let sending = true;
    const client = async () => {
      while (sending) {
        const traces = Array.from({ length: 5 }, trace);
        // As clients do: the same batch is sent until it is accepted.
        for (;;) {
          const answer = await send(traces.flat());
          if (answer.status === 202) break;
          refused.add(answer.status);
          expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
          await delay(50);
        }
        acknowledged.push(...traces.map(([root]) => root!.id));
      }
    };
    const clients = Promise.all([client(), client(), client()]);
    // However the clients end, the test does not wait for them in vain.
    const until = (count: number) =>
      expect.poll(() => acknowledged.length, { timeout: 120_000 }).toBeGreaterThanOrEqual(count);
    try {
      await until(15);
      for (let kills = 0; kills < 2; kills++) {
        const before = acknowledged.length;
        await server.kill();
        await expect.poll(() => refused.has(503), { timeout: 60_000 }).toBe(true);
        await server.restart();
        await until(before + 15);
      }
    } finally {
      sending = false;
      await clients;
    }
    expect([...refused]).toEqual([503]);
    for (const id of acknowledged) expect([id, await totalOf(id)]).toEqual([id, 2]);
  });
});
