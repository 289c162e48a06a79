import { randomBytes, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Lifecycle } from "../../src/app/lifecycle.ts";
import { openClickHouse } from "../../src/app/open-clickhouse.ts";
import { checkTraces } from "../../src/cli/commands/doctor/check-traces.ts";
import { readConfig } from "../../src/config/index.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { EngineNote } from "../../src/traces/engine-note.ts";
import { type ClickHouse, startClickHouse } from "../support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../support/components/clickhouse-library.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { sampleChild, samplePost } from "../support/traces-app.ts";
import { runTreadle, startTreadle } from "../support/treadle.ts";

const logger = createLogger({ level: "silent" });
let server: ClickHouse;
let testDatabase: TestDatabase;
let folder: TempFolder;
let right: string;

// The first run on a machine fetches ClickHouse.
beforeAll(async () => {
  server = await startClickHouse();
  folder = await createTempFolder("clickhouse-start");
  right = await server.createDatabase();
}, clickHouseStartLimitMs);
// It notes which ClickHouse was used.
beforeEach(async () => {
  testDatabase = await createTestDatabase();
});
afterEach(() => testDatabase?.drop());
afterAll(async () => {
  await folder?.remove();
  await server?.stop();
});

const configWith = (url: string) => readConfig({ TREADLE_TRACES_URL: url });
async function open(url: string | undefined, isNeeded = true, waitMs?: number) {
  const life = new Lifecycle();
  try {
    const { database } = testDatabase;
    const options = { database, logger, life, isNeeded, ...(waitMs !== undefined && { waitMs }) };
    const given = url === undefined ? undefined : configWith(url).clickHouse;
    return (await openClickHouse(given, options)).notes;
  } finally {
    await life.stop({ graceMs: 0, leaveMs: 0 });
  }
}
const here = () => `${new URL(right).host}${new URL(right).pathname}`;

describe("the setting of ClickHouse", () => {
  test("that is right is examined without a change, then used", async () => {
    expect(await checkTraces(readConfig({}))).toEqual({ status: "ok", message: "kept in PostgreSQL" });
    expect(await checkTraces(configWith(right))).toMatchObject({
      status: "ok",
      message: expect.stringMatching(/ClickHouse \d+\.\d+.*brought up to date by the next start/),
    });
    const env = { DATABASE_URL: testDatabase.url, TREADLE_TRACES_URL: right, TREADLE_DATA_DIR: folder.path };
    const migrated = await runTreadle(["migrate", "--json"], { env });
    expect(JSON.parse(migrated.stdout)).toMatchObject({
      applied: expect.arrayContaining(["clickhouse/0001_runs.sql"]),
    });
    expect(await open(right)).toEqual([]);
    expect((await checkTraces(configWith(right))).message).toContain(
      ` at ${here()} (TREADLE_TRACES_URL); up to date`,
    );
  });

  test("that names no database ends the start, with its name", async () => {
    const wrong = `${server.origin}/not_there`;
    await expect(open(wrong)).rejects.toMatchObject({
      code: "database.refused",
      message: expect.stringContaining("TREADLE_TRACES_URL"),
    });
    await expect(checkTraces(configWith(wrong))).rejects.toMatchObject({ code: "database.refused" });
  });

  test("that leads to a server that is too old ends it, and says which it must be", async () => {
    // No such server can be had here: this one answers as one would.
    const old = createServer((request, response) => {
      request.resume().on("end", () => response.end('{"version":"25.8.3.66"}\n'));
    });
    await new Promise<void>((resolve) => old.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(old.address() as AddressInfo).port}/treadle`;
    try {
      const error = { code: "database.too_old", message: expect.stringContaining("needs 26.3 or newer") };
      await expect(open(url)).rejects.toMatchObject(error);
      await expect(checkTraces(configWith(url))).rejects.toMatchObject(error);
    } finally {
      await new Promise((resolve) => {
        old.close(resolve);
        old.closeAllConnections();
      });
    }
  });

  test("that leads to nobody lets the start go on, with a note where runs are used", async () => {
    const away = "http://user:hidden@127.0.0.1:1/treadle";
    expect(await open(away)).toEqual([
      expect.stringContaining("Traces have to wait: ClickHouse at 127.0.0.1:1"),
    ]);
    expect((await open(away)).join()).not.toContain("hidden");
    expect(await open(away, false)).toEqual([]);
    await expect(checkTraces(configWith(away))).rejects.toMatchObject({ code: "database.unavailable" });
  });

  test("that leads to a server that says nothing does not hold up the start", async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/treadle`;
      expect(await open(url, true, 100)).toEqual([
        expect.stringContaining("Traces have to wait: ClickHouse"),
      ]);
    } finally {
      await new Promise((resolve) => {
        silent.close(resolve);
        silent.closeAllConnections();
      });
    }
  });
});

describe("a process with another setting than the others", () => {
  const other = { code: "traces.other_engine" };

  test("does not start, and says what to do; from PostgreSQL to ClickHouse is a way", async () => {
    // One that cannot be reached is not noted: its address may be wrong.
    expect(await open("http://127.0.0.1:9/wrong")).toHaveLength(1);
    await open(undefined);
    await open(right);
    await open(right);
    const message = expect.stringMatching(
      /in ClickHouse, since .* TREADLE_TRACES_URL is not set here.*treadle traces use/,
    );
    await expect(open(undefined)).rejects.toMatchObject({ ...other, message });
    await expect(open(await server.createDatabase())).rejects.toMatchObject({
      ...other,
      message: expect.stringContaining("another ClickHouse database"),
    });
    // Roles without runs do not ask.
    expect(await open(undefined, false)).toEqual([]);
  });

  test("may be what all others follow, when somebody says so", async () => {
    await open(right);
    const env = { DATABASE_URL: testDatabase.url, TREADLE_DATA_DIR: folder.path };
    const used = await runTreadle(["traces", "use"], { env });
    expect(used.stdout).toContain("kept in PostgreSQL from now on");
    await open(undefined);
    const running = new EngineNote(testDatabase.database, undefined);
    await running.check();
    await open(right);
    await expect(running.check()).rejects.toMatchObject(other);
  });
});

describe("a server that is killed while it writes to ClickHouse", () => {
  test("has stored what it acknowledged, once", { timeout: 300_000 }, async () => {
    const apiKey = `trk_${randomBytes(16).toString("hex")}`;
    const env = {
      ...{ DATABASE_URL: testDatabase.url, TREADLE_TRACES_URL: right, TREADLE_API_KEY: apiKey },
      TREADLE_SECRET_KEY: randomBytes(16).toString("hex"),
    };
    const start = () => startTreadle(["--data-dir", folder.path], { env });
    let treadle = await start();
    const acknowledged: string[] = [];
    let sending = true;
    const call = (path: string, init: RequestInit = {}) =>
      fetch(new URL(path, treadle.ready.url), {
        ...init,
        headers: { "x-api-key": apiKey, "content-type": "application/json" },
      });
    const client = async () => {
      while (sending) {
        const root = samplePost({ id: randomUUID(), start_time: "2026-11-05T10:00:00.123456Z" });
        const usage = { usage_metadata: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } };
        const post = [root, sampleChild(root, { run_type: "llm", outputs: usage })];
        // As clients do: the same batch is sent until it is accepted.
        for (;;) {
          const answer = await call("/api/v1/runs/batch", {
            method: "POST",
            body: JSON.stringify({ post }),
          }).catch(() => undefined);
          await answer?.body?.cancel();
          if (answer?.status === 202) break;
          await delay(50);
        }
        acknowledged.push(root.id);
      }
    };
    const clients = Promise.all([client(), client()]);
    const until = (count: number) =>
      expect.poll(() => acknowledged.length, { timeout: 120_000 }).toBeGreaterThanOrEqual(count);
    try {
      await until(10);
      treadle.signal("SIGKILL");
      await treadle.exited;
      const before = acknowledged.length;
      treadle = await start();
      await until(before + 10);
    } finally {
      sending = false;
      await clients;
    }
    for (let at = 0; at < acknowledged.length; at += 100) {
      const id = acknowledged.slice(at, at + 100);
      const body = JSON.stringify({ id, select: ["id", "total_tokens"], limit: 100 });
      const answer = await call("/api/v1/runs/query", { method: "POST", body });
      const { runs } = (await answer.json()) as { runs: { id: string; total_tokens: number }[] };
      expect(Object.fromEntries(runs.map((run) => [run.id, run.total_tokens]))).toEqual(
        Object.fromEntries(id.map((each) => [each, 2])),
      );
      expect(runs).toHaveLength(id.length);
    }
    await treadle.stop();
  });
});
