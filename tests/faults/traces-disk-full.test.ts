import { randomBytes, randomUUID } from "node:crypto";
import { chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { type DebianPostgres, startDebianPostgres } from "../support/components/debian-postgres.ts";
import { runCommand } from "../support/components/run-command.ts";
import { mountSmallDisk, type SmallDisk } from "../support/components/small-disk.ts";
import { runOn, withDatabase } from "../support/postgres.ts";
import { multipartBody } from "../support/traces-app.ts";

let postgres: DebianPostgres;
let disk: SmallDisk;
let app: TestApp;

beforeAll(async () => {
  postgres = await startDebianPostgres();
  disk = await mountSmallDisk(64);
  const folder = join(disk.path, "tables");
  await mkdir(folder);
  const [uid, gid] = await Promise.all(
    ["-u", "-g"].map(async (flag) => Number((await runCommand("id", [flag, "postgres"])).stdout)),
  );
  await chown(folder, uid!, gid!);
  await runOn(postgres.url, `create tablespace small location '${folder}'`);
  await runOn(postgres.url, "create database on_small tablespace small");
  app = await createTestApp({ databaseUrl: withDatabase(postgres.url, "on_small") });
}, 600_000);
afterAll(async () => {
  await app?.stop();
  await postgres?.stop();
  await disk?.unmount();
});

type Sent = { ids: string[]; status: number; retryAfter: string | null };

const filler = () => randomBytes(2_000).toString("hex");
const run = (id: string) => ({
  id,
  name: "filling",
  run_type: "chain",
  start_time: new Date().toISOString(),
  inputs: { filler: filler() },
});
const newIds = (count: number) => Array.from({ length: count }, () => randomUUID());

async function send(path: string, ids: string[], body: string | Buffer, type: string): Promise<Sent> {
  const init = { method: "POST", body: new Uint8Array(Buffer.from(body)), headers: { "content-type": type } };
  const response = await app.fetch(path, init);
  await response.text();
  return { ids, status: response.status, retryAfter: response.headers.get("retry-after") };
}

const paths: Record<string, () => Promise<Sent>> = {
  batch() {
    const ids = newIds(100);
    return send("/api/v1/runs/batch", ids, JSON.stringify({ post: ids.map(run) }), "application/json");
  },
  multipart() {
    const ids = newIds(100);
    const body = multipartBody(
      ids.map((id) => ({ name: `post.${id}`, value: run(id) })),
      "edge",
    );
    return send("/api/v1/runs/multipart", ids, body, "multipart/form-data; boundary=edge");
  },
  single() {
    const [id = ""] = newIds(1);
    return send("/api/v1/runs", [id], JSON.stringify(run(id)), "application/json");
  },
  otlp() {
    const spans = Array.from({ length: 100 }, () => ({
      traceId: randomBytes(16).toString("hex"),
      spanId: randomBytes(8).toString("hex"),
      name: "filling",
      startTimeUnixNano: String(BigInt(Date.now()) * 1_000_000n),
      endTimeUnixNano: String(BigInt(Date.now()) * 1_000_000n),
      attributes: [{ key: "input.value", value: { stringValue: filler() } }],
    }));
    const ids = spans.map(({ traceId }) =>
      traceId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"),
    );
    const body = { resourceSpans: [{ scopeSpans: [{ spans }] }] };
    return send("/api/v1/otel/v1/traces", ids, JSON.stringify(body), "application/json");
  },
};

async function storedOf(ids: readonly string[]): Promise<number> {
  const found = await app.call<{ runs: unknown[] }>("POST", "/api/v1/runs/query", {
    body: { id: ids, limit: 100, select: ["id"] },
  });
  expect(found.status).toBe(200);
  return found.body.runs.length;
}

describe("traces on a full disk", () => {
  it("are acknowledged when they are stored, else refused whole with 507 and when to come again", async () => {
    expect((await paths.batch!()).status).toBe(202);
    const dataset = await app.call<{ id: string }>("POST", "/api/v1/datasets", { body: { name: "filling" } });
    expect(dataset.status).toBe(200);
    const hoard = join(disk.path, "hoard");
    await disk.fill(hoard);
    const acknowledged: Sent[] = [];
    for (const [name, send] of Object.entries(paths)) {
      const refused: Sent[] = [];
      for (let tries = 0; refused.length < 3 && tries < 400; tries += 1) {
        const sent = await send();
        (sent.status < 300 ? acknowledged : refused).push(sent);
      }
      expect([name, refused.map((sent) => sent.status)]).toEqual([name, [507, 507, 507]]);
      for (const sent of refused) expect(Number(sent.retryAfter)).toBeGreaterThan(0);
    }
    for (const body of [
      { path: "/api/v1/feedback", make: () => ({ run_id: randomUUID(), key: "k", comment: filler() }) },
      {
        path: "/api/v1/examples/bulk",
        make: () =>
          newIds(50).map((id) => ({ id, dataset_id: dataset.body.id, inputs: { filler: filler() } })),
      },
    ]) {
      let status = 200;
      for (let tries = 0; status < 300 && tries < 400; tries += 1)
        status = (await app.call("POST", body.path, { body: body.make() })).status;
      expect([body.path, status]).toEqual([body.path, 507]);
    }
    await disk.free(hoard);
    await expect.poll(async () => (await app.call("GET", "/ok")).status, { timeout: 20_000 }).toBe(200);
    for (const sent of acknowledged) expect(await storedOf(sent.ids)).toBe(sent.ids.length);
    expect((await paths.batch!()).status).toBe(202);
  }, 180_000);
});
