/**
 * What a thousand deployments cost of which twenty are awake, and how long a request waits for one that sleeps.
 * `node bench/sleeping-deployments.ts [--count 1000] [--awake 20] [--seconds 60] [--wakes 20]`. One deployment is
 * built; the others are rows with the same build, asleep. Those that are woken really run, each with a database.
 */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { listBusyDeployments } from "../src/control-plane/reconciler/observation-store.ts";
import { openDatabase } from "../src/platform/db/connection/open-database.ts";
import { raw } from "../src/platform/db/raw.ts";
import { createLogger } from "../src/platform/logger.ts";
import { freePort } from "../tests/support/components/free-port.ts";
import { startGitServer } from "../tests/support/components/git-server.ts";
import { deploy, gitDeployment } from "../tests/support/deployments.ts";
import { quickInstall, quickProject } from "../tests/support/quick-project.ts";
import { createDataParent, type RunningTreadle, startTreadle } from "../tests/support/treadle.ts";
import { copyDeployment } from "./deployment-copies.ts";
import { costOf, withDescendants } from "./process-cost.ts";

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "1000" },
    awake: { type: "string", default: "20" },
    seconds: { type: "string", default: "60" },
    wakes: { type: "string", default: "20" },
  },
});
const [count, awake] = [Number(values.count), Number(values.awake)];
const seconds = Number(values.seconds);

const parent = await createDataParent("bench-sleeping");
const dataDir = `${parent.path}/data`;
const port = await freePort();
const apiKey = "a-key-for-the-bench-of-sleepers";
const secretKey = randomBytes(24).toString("hex");
const headers = { "x-api-key": apiKey, "content-type": "application/json" };
const git = await startGitServer();
let treadle: RunningTreadle = await start();
const url = treadle.ready.url;
const database = openDatabase({ url: databaseUrl(), poolSize: 2, logger: createLogger({ level: "silent" }) });
const report: Record<string, unknown> = { machine: `${cpus().length} × ${cpus()[0]?.model}`, count, awake };
try {
  const repository = await git.createRepository("sleeper", quickProject("awake"));
  const source_config = {
    ...{ repo_url: repository.url, install_command: quickInstall, resource_spec: { min_scale: 0 } },
  };
  const made = await deploy({ call }, gitDeployment("sleeper", repository.url, { source_config }));
  if (made.revision.status !== "DEPLOYED") throw new Error(made.revision.status_message ?? "not deployed");
  await putToSleep(made.deployment.id);
  report.wake = await measureWakes(made.deployment.id, made.deployment.slug);
  report.idle_alone = await measureIdle();
  const copies = await copyDeployment(database, secretKey, {
    ...{ of: made.deployment.id, name: "sleeper", count: count - 1 },
    // Only those that will be woken.
    withDatabase: awake,
  });
  report[`idle_${count}_asleep`] = await measureIdle();
  report[`sweep_${count}_asleep`] = await measureSweep();
  report.restart = await measureRestart();
  const began = performance.now();
  const woken: number[] = [];
  // As many at once as start at once: a request waits for a minute at most.
  for (let index = 0; index < awake; index += 4)
    woken.push(...(await Promise.all(copies.slice(index, Math.min(index + 4, awake)).map(answerMs))));
  report[`wake_${awake}_by_fours`] = { all_ms: Math.round(performance.now() - began), ...spread(woken) };
  report[`idle_${count}_with_${awake}_awake`] = await measureIdle();
  report[`sweep_${count}_with_${awake}_awake`] = await measureSweep();
  report.list_ms = await measureList();
} finally {
  console.log(JSON.stringify(report, null, 2));
  await database.close();
  await treadle.stop();
  await git.stop();
  await parent.remove();
}

function start(): Promise<RunningTreadle> {
  return startTreadle(["--data-dir", dataDir, "--port", String(port)], {
    // Longer than the bench: nothing falls asleep by itself while it is measured.
    env: { TREADLE_API_KEY: apiKey, TREADLE_SECRET_KEY: secretKey, TREADLE_SLEEP_AFTER_MINUTES: "600" },
  });
}

function databaseUrl(): string {
  return (JSON.parse(readFileSync(`${dataDir}/runtime.json`, "utf8")) as { databaseUrl: string }).databaseUrl;
}

async function call<Body>(method: string, path: string, body?: unknown) {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, { method, headers, ...sent });
  return { status: response.status, body: (await response.json()) as Body };
}

async function putToSleep(id: string): Promise<void> {
  for (;;) {
    // Asked again: one that has just answered may still be noted as waking.
    await call("POST", `/v2/deployments/${id}/sleep`);
    const { rows } = await raw`select 1 from deployments where id = ${id} and sleep_settled`.execute(
      database.sql,
    );
    if (rows.length > 0) return;
    await pause(50);
  }
}

/** From the request to its answer, with a server that does not run. */
async function answerMs(slug: string): Promise<number> {
  const began = performance.now();
  for (;;) {
    const response = await fetch(`${url}/d/${slug}/version`, { headers });
    await response.arrayBuffer();
    if (response.ok) return performance.now() - began;
    // A gateway holds a request for a minute, and a busy machine may need longer.
    if (response.headers.get("x-error-code") !== "gateway.waking")
      throw new Error(
        `a request to one that sleeps got ${response.status}, ${response.headers.get("x-error-code")}`,
      );
  }
}

async function measureWakes(id: string, slug: string) {
  const times: number[] = [];
  for (let round = 0; round < Number(values.wakes); round += 1) {
    times.push(await answerMs(slug));
    await putToSleep(id);
  }
  return { rounds: times.length, ...spread(times), load: loadavg()[0]!.toFixed(2) };
}

function spread(times: readonly number[]) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) =>
    Number(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!.toFixed(1));
  return { p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99), max_ms: at(1) };
}

async function measureIdle() {
  // What was begun is finished: pool connections are given up, garbage is collected.
  await pause(30_000);
  const { rows } = await raw<{ pid: number }>`
    select (handle->>'pid')::int as pid from deployment_instances where state <> 'exited'`.execute(
    database.sql,
  );
  const postmaster = Number(readFileSync(`${dataDir}/postgres/data/postmaster.pid`, "utf8").split("\n")[0]);
  const groups = {
    platform: [treadle.pid],
    database: withDescendants([postmaster]),
    servers: withDescendants(rows.map(({ pid }) => pid)),
  };
  const transactionsBefore = await countTransactions();
  const before = Object.entries(groups).map(
    ([name, pids]) => [name, new Map(pids.map((pid) => [pid, costOf([pid]).cpuMs]))] as const,
  );
  const began = performance.now();
  await pause(seconds * 1000);
  const ms = performance.now() - began;
  const each = before.map(([name, used]) => {
    const pids = [...used.keys()];
    // A process that has ended meanwhile says nothing of what it used.
    const cpuMs = pids.reduce((sum, pid) => sum + Math.max(0, costOf([pid]).cpuMs - used.get(pid)!), 0);
    const memoryMb = Math.round(costOf(pids).memoryMb);
    return [name, { cpu_percent: Number(((cpuMs / ms) * 100).toFixed(2)), memory_mb: memoryMb }];
  });
  const transactions = (await countTransactions()) - transactionsBefore;
  return {
    ...Object.fromEntries(each),
    transactions_per_minute: Math.round((transactions / ms) * 60_000),
    ...{ servers_running: rows.length, load: loadavg()[0]!.toFixed(2) },
  };
}

/** Of the platform's own database; those of the deployed servers are in theirs. */
async function countTransactions(): Promise<number> {
  const { rows } = await raw<{ count: number }>`select (xact_commit + xact_rollback)::int as count
    from pg_stat_database where datname = current_database()`.execute(database.sql);
  return rows[0]!.count;
}

/** The one statement of a sweep, and how many deployments have to be looked at because of it. */
async function measureSweep() {
  const times: number[] = [];
  let found: { settled: boolean }[] = [];
  for (let round = 0; round < 100; round += 1) {
    const began = performance.now();
    found = await listBusyDeployments(database.sql, new Date(Date.now() + 120_000));
    times.push(performance.now() - began);
  }
  return {
    ...spread(times),
    found: found.length,
    looked_at: found.filter(({ settled }) => !settled).length,
  };
}

async function measureRestart() {
  const stopping = performance.now();
  treadle.signal("SIGTERM");
  await treadle.exited;
  const starting = performance.now();
  treadle = await start();
  const ready = performance.now();
  const { rows } = await raw<{ count: number }>`
    select count(*)::int as count from deployment_instances where state <> 'exited'`.execute(database.sql);
  return {
    stop_ms: Math.round(starting - stopping),
    start_to_ready_ms: Math.round(ready - starting),
    servers_started: rows[0]!.count,
  };
}

async function measureList() {
  const times: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const began = performance.now();
    await call("GET", "/v2/deployments?limit=100");
    times.push(performance.now() - began);
  }
  return spread(times);
}
