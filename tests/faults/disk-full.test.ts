import { chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { type DebianPostgres, startDebianPostgres } from "../support/components/debian-postgres.ts";
import { runCommand } from "../support/components/run-command.ts";
import { mountSmallDisk, type SmallDisk } from "../support/components/small-disk.ts";
import { runOn, withDatabase } from "../support/postgres.ts";

let postgres: DebianPostgres;
let disk: SmallDisk;
let app: TestApp;

beforeAll(async () => {
  postgres = await startDebianPostgres();
  // The tables lie on a disk of their own, the write-ahead log does not: PostgreSQL itself keeps running when it is full.
  disk = await mountSmallDisk(48);
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

const createThread = (filler = "") =>
  app.call<{ detail: string }>("POST", "/threads", { body: { metadata: { filler } } });

describe("a full disk", () => {
  it("answers writes with 507 and when to come again, `/ok` tells, and both heal by themselves", async () => {
    expect((await createThread()).status).toBe(200);
    const hoard = join(disk.path, "hoard");
    await disk.fill(hoard);
    const words = () => Array.from({ length: 3_000 }, () => Math.random().toString(36).slice(2)).join(" ");
    let refused = await createThread(words());
    for (let tries = 0; refused.status === 200 && tries < 300; tries += 1)
      refused = await createThread(words());
    expect(refused.status).toBe(507);
    expect(refused.body.detail).toMatch(/disk .* is full/);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused.headers.get("x-error-code")).toBe("database.full");

    const unwell = await app.call<{ detail: string }>("GET", "/ok");
    expect([unwell.status, unwell.body.detail]).toEqual([503, expect.stringMatching(/disk .* is full/)]);

    const run = await app.call<{ detail: string }>("POST", "/runs/wait", {
      body: { assistant_id: "echo", input: { messages: [{ role: "user", content: words() }] } },
    });
    expect([507, 503]).toContain(run.status);

    await disk.free(hoard);
    await expect.poll(async () => (await app.call("GET", "/ok")).status, { timeout: 20_000 }).toBe(200);
    expect((await createThread(words())).status).toBe(200);
  }, 120_000);
});
