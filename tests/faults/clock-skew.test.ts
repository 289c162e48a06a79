import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { type RunningAgent, startAgent } from "../support/agent-command.ts";
import { ensureDebianPackages } from "../support/components/install-packages.ts";
import { runCommand } from "../support/components/run-command.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { quickProject } from "../support/quick-project.ts";

let test: TestDatabase;
let folder: TempFolder;
let library: string;
let agent: RunningAgent | undefined;

beforeAll(async () => {
  await ensureDebianPackages(["libfaketime"]);
  const { stdout } = await runCommand("dpkg-query", ["--listfiles", "libfaketime"]);
  library = stdout.split("\n").find((file) => file.endsWith("/libfaketime.so.1"))!;
  test = await createTestDatabase({ poolSize: 2 });
  folder = await createTempFolder("clock-skew");
  for (const [name, content] of Object.entries(quickProject("on time"))) {
    await writeFile(join(folder.path, name), content as string);
  }
  await symlink(
    fileURLToPath(new URL("../../node_modules", import.meta.url)),
    join(folder.path, "node_modules"),
  );
}, 600_000);
afterEach(async () => {
  await agent?.process.stop();
  agent = undefined;
});
afterAll(async () => {
  await folder?.remove();
  await test?.drop();
});

describe.each(["-1h", "+1h"])("a server whose clock is %s off the database's", (offset) => {
  it("starts delayed runs and crons when they are due, and rests in between", async () => {
    agent = await startAgent(join(folder.path, "langgraph.json"), {
      DATABASE_URL: test.url,
      LD_PRELOAD: library,
      FAKETIME: offset,
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    });
    const client = new Client({ apiUrl: agent.ready.url });
    const { thread_id } = await client.threads.create();
    const before = await databaseTime();
    const run = await client.runs.create(thread_id, "echo", { input: {}, afterSeconds: 3 });
    const commitsBefore = await commits();
    expect((await client.runs.get(thread_id, run.run_id)).status).toBe("pending");
    await expect
      .poll(async () => (await client.runs.get(thread_id, run.run_id)).status, {
        timeout: 15_000,
        interval: 500,
      })
      .toBe("success");
    const { rows } = await raw<{ started_at: Date }>`select started_at from runs
      where run_id = ${run.run_id}`.execute(test.database.sql);
    const waitedMs = rows[0]!.started_at.getTime() - before;
    expect(waitedMs).toBeGreaterThan(2_900);
    expect(waitedMs).toBeLessThan(8_000);
    expect((await commits()) - commitsBefore).toBeLessThan(300);
    const cron = await client.crons.create("echo", { schedule: "* * * * *" });
    const due = Date.parse(String((cron as { next_run_date?: string }).next_run_date));
    const now = await databaseTime();
    expect(due - now).toBeGreaterThan(-1_000);
    expect(due - now).toBeLessThanOrEqual(61_000);
    await client.crons.delete((cron as { cron_id: string }).cron_id);
  }, 90_000);
});

async function databaseTime(): Promise<number> {
  const { rows } = await raw<{ now: Date }>`select clock_timestamp() as now`.execute(test.database.sql);
  return rows[0]!.now.getTime();
}

async function commits(): Promise<number> {
  const { rows } = await raw<{ count: number }>`select xact_commit as count from pg_stat_database
    where datname = current_database()`.execute(test.database.sql);
  return Number(rows[0]!.count);
}
