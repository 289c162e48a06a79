import { randomUUID } from "node:crypto";
import { appendFile, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { insertDeployment, insertRevision, insertWorkspace } from "../../../tests/support/deployment-rows.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { createLogger } from "../../platform/logger.ts";
import { readLogs } from "../logs/log-store.ts";
import type { Instance } from "./instance.ts";
import { insertInstance, readInstance } from "./instance-store.ts";
import { LogTail } from "./log-tail.ts";

let test: TestDatabase;
let folder: TempFolder;
let deploymentId: string;
let revisionId: string;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 3 });
  folder = await createTempFolder("log-tail");
  const { sql } = test.database;
  const workspaceId = await insertWorkspace(sql);
  deploymentId = await insertDeployment(sql, workspaceId);
  revisionId = await insertRevision(sql, { workspaceId, deploymentId });
});

afterAll(async () => {
  await test?.drop();
  await folder?.remove();
});

async function newInstance(): Promise<Instance> {
  const id = randomUUID();
  const row = {
    ...{ id, deployment_id: deploymentId, revision_id: revisionId, runtime: "process", attempt: 1, port: 1 },
    ...{
      log_path: join(folder.path, `${id}.log`),
      database_hash: "",
      tracing_key_id: null,
      secret_sealed: null,
    },
  };
  await insertInstance(test.database.sql, row, new Date());
  return (await readInstance(test.database.sql, id))!;
}

function follow(instance: Instance, more: { maxFileBytes?: number; maxBacklogBytes?: number } = {}) {
  const { database } = test;
  const logger = createLogger({ level: "silent" });
  return new LogTail({
    ...{ database, clock: systemClock, logger, instance, secrets: ["hush-hush"] },
    ...more,
  });
}

const lines = async () =>
  (await readLogs(test.database.sql, { deploymentId, kind: "deploy", order: "asc", limit: 10_000 })).map(
    ({ message }) => message,
  );
const until = (text: string, timeoutMs = 10_000) =>
  waitUntil(async () => (await stored(text)).lines > 0, { what: `the line ${text}`, timeoutMs });
async function messages(pattern: string): Promise<string[]> {
  const { rows } = await raw<{ message: string }>`
    select message from deployment_logs where message like ${pattern}`.execute(test.database.sql);
  return rows.map(({ message }) => message);
}
async function stored(pattern: string): Promise<{ lines: number; different: number }> {
  const { rows } = await raw<{ lines: number; different: number }>`
    select count(*)::int as lines, count(distinct message)::int as different
    from deployment_logs where message like ${pattern}`.execute(test.database.sql);
  return rows[0]!;
}

describe("a server's log", () => {
  it("is stored line by line, without secrets, and goes on after a restart where it stopped", async () => {
    const instance = await newInstance();
    await appendFile(instance.log_path, "one\ntwo with hush-hush inside\nhalf a");
    const first = follow(instance);
    await until("two with ******** inside");
    await first.stop();
    await appendFile(instance.log_path, "\nthree\n");
    const second = follow((await readInstance(test.database.sql, instance.id))!);
    await until("three");
    await second.stop();
    const all = await lines();
    for (const line of ["one", "three"]) expect(all.filter((found) => found === line)).toHaveLength(1);
  });

  it("is stored whole while its file is given back to the disk, however fast it is written", {
    timeout: 120_000,
  }, async () => {
    const instance = await newInstance();
    const tail = follow(instance, { maxFileBytes: 1_000_000 });
    const count = 100_000;
    const file = await open(instance.log_path, "a");
    for (let first = 0; first < count; first += 1_000) {
      await file.appendFile(
        Array.from({ length: 1_000 }, (_, index) => `quick ${first + index} ${"x".repeat(80)}\n`).join(""),
      );
    }
    await file.close();
    await until(`quick ${count - 1} ${"x".repeat(80)}`, 60_000);
    await tail.stop();
    expect(await stored("quick %")).toEqual({ lines: count, different: count });
    const { size, blocks } = await stat(instance.log_path);
    expect(blocks * 512).toBeLessThan(Math.min(size, 3_000_000));
  });

  it("cuts a line of 20 MB with a notice and goes on with the next", { timeout: 60_000 }, async () => {
    const instance = await newInstance();
    const tail = follow(instance);
    await appendFile(instance.log_path, `long ${"y".repeat(20_000_000)}\nafter the long line\n`);
    await until("after the long line", 30_000);
    await tail.stop();
    const [long] = await messages("long y%");
    expect(long).toContain("[cut: the line is longer than 65536 bytes]");
    expect(long!.length).toBeLessThan(20_000);
    expect(await stored("long y%")).toEqual({ lines: 1, different: 1 });
  });

  it("leaves out what is more than can wait, and says how much", { timeout: 60_000 }, async () => {
    const instance = await newInstance();
    const count = 50_000;
    await appendFile(instance.log_path, Array.from({ length: count }, (_, at) => `flood ${at}\n`).join(""));
    const tail = follow(instance, { maxBacklogBytes: 100_000 });
    await until(`flood ${count - 1}`);
    await tail.stop();
    const notices = (await messages("% were left out%")).map(
      (line) => /^(\d+) lines \(.* MB\) were left out/.exec(line)?.[1],
    );
    const left = notices.reduce((sum, number) => sum + Number(number ?? 0), 0);
    expect(left).toBeGreaterThan(10_000);
    expect((await stored("flood %")).lines + left).toBe(count);
  });
});
