import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { createTestApp, type TestApp } from "../support/app.ts";
import { startTcpProxy, type TcpProxy } from "../support/components/tcp-proxy.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 240_000 });

/** Longer than a statement waits for its answer. */
const outageMs = 6_000;

let database: TestDatabase;
let proxy: TcpProxy;
let app: TestApp;
let url: string;

beforeAll(async () => {
  database = await createTestDatabase({ poolSize: 2 });
  proxy = await startTcpProxy({ target: database.url });
  app = await createTestApp({ databaseUrl: proxy.urlFor(database.url) });
  url = await app.listen();
});
afterEach(() => proxy?.restore());
afterAll(async () => {
  await app?.stop();
  await proxy?.stop();
  await database?.drop();
});

/** What ours is told as ours: come again. */
function expectAway(answer: { status: number; headers: Headers }): void {
  expect(answer.status).toBe(503);
  expect(answer.headers.get("x-error-code")).toMatch(/^database\./);
}

const untilBack = () =>
  waitUntil(async () => (await app.call("GET", "/ok")).status === 200, {
    ...{ what: "the database to be back", timeoutMs: 60_000, intervalMs: 200 },
  });

async function makeListener(name: string): Promise<string> {
  const made = await app.call<{ id: string }>("POST", "/v2/listeners", {
    body: { compute_type: "process", compute_id: name, compute_config: {} },
  });
  expect(made.status).toBe(201);
  return made.body.id;
}

it("away while a second archive is sent: 503, and the same request is taken afterwards", async () => {
  const listener_id = await makeListener("of the archives");
  const made = await app.call<{ id: string; detail?: string }>("POST", "/v2/deployments", {
    body: {
      ...{ name: "sent", source: "internal_source", source_config: { listener_id } },
      source_revision_config: {},
    },
  });
  expect([made.status, made.body.detail]).toEqual([201, undefined]);
  const open = async () => {
    const path = `/v2/deployments/${made.body.id}/upload-url`;
    const { body } = await app.call<{ upload_url: string; object_path: string }>("POST", path);
    return { ...body, put: `${url}${new URL(body.upload_url).pathname}${new URL(body.upload_url).search}` };
  };
  const first = await open();
  expect((await fetch(first.put, { method: "PUT", body: "the first" })).status).toBe(200);
  const second = await open();
  const sent = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode("the beginning, "));
      await sent.promise;
      controller.enqueue(new TextEncoder().encode("and the end"));
      controller.close();
    },
  });
  const options: RequestInit & { duplex: "half" } = { method: "PUT", body, duplex: "half" };
  const sending = fetch(second.put, options);
  const attempts = async () => {
    const { rows } = await raw<{ attempts: number; sha256: string | null }>`select attempts, sha256
      from source_uploads where object_path = ${second.object_path}`.execute(database.database.sql);
    return rows[0]!;
  };
  await waitUntil(async () => (await attempts()).attempts === 1, {
    ...{ what: "the upload to begin", timeoutMs: 60_000 },
  });
  await proxy.refuse();
  sent.resolve();
  expectAway(await sending);
  await pause(outageMs);
  await proxy.restore();
  await untilBack();
  expect(await attempts()).toEqual({ attempts: 1, sha256: null });
  expect((await fetch(second.put, { method: "PUT", body: "the whole" })).status).toBe(200);
  const { rows } = await raw<{ bytes: number; attempt: number }>`select bytes, attempt from source_uploads
    where object_path = ${second.object_path}`.execute(database.database.sql);
  expect(rows).toEqual([{ bytes: "the whole".length, attempt: 2 }]);
  // What was stored for nothing is known, and is swept.
  const left = await raw<{ key: string }>`select key from unclaimed_blobs`.execute(database.database.sql);
  expect(left.rows).toEqual([{ key: `uploads/${second.object_path}` }]);
});

it("away while a listener's key is bound: 503, and it is bound once afterwards, to the one that asks first", async () => {
  const [one, other] = [await makeListener("one"), await makeListener("other")];
  const { body: made } = await app.call<{ id: string; key: string }>("POST", "/v2/api-keys", {
    body: { name: "of one", service: true, scopes: ["listener"] },
  });
  const lease = { place: randomUUID(), holder: randomUUID(), version: "1", runtime: "process" };
  const take = (id: string) =>
    app.call("POST", `/v2/listeners/${id}/lease`, {
      body: { ...lease, url: "http://127.0.0.1:9" },
      headers: { "x-api-key": made.key },
    });
  const bound = async () =>
    (
      await raw<{ listener_id: string }>`select listener_id from listener_keys
        where api_key_id = ${made.id}`.execute(database.database.sql)
    ).rows.map(({ listener_id }) => listener_id);
  // Its credential is known, so that what fails is the binding.
  expect((await take(randomUUID())).status).toBe(404);
  // The database has the statement and cannot go on: the connection is lost in the middle of the transaction.
  const held = Promise.withResolvers<void>();
  const locking = Promise.withResolvers<void>();
  const lock = database.database.transaction(async (tx) => {
    await raw`select 1 from listeners where id = ${one} for update`.execute(tx);
    locking.resolve();
    await held.promise;
  });
  await locking.promise;
  const asking = take(one);
  await waitUntil(
    async () =>
      (
        await raw`select 1 from pg_stat_activity where datname = current_database()
          and wait_event_type = 'Lock'`.execute(database.database.sql)
      ).rows.length > 0,
    { what: "the request to wait in the database", timeoutMs: 60_000 },
  );
  await proxy.refuse();
  expectAway(await asking);
  await pause(outageMs);
  held.resolve();
  await lock;
  await proxy.restore();
  await untilBack();
  expect(await bound()).toEqual([]);
  expect((await take(one)).status).toBe(200);
  expect((await take(other)).status).toBe(403);
  expect(await bound()).toEqual([one]);
});
