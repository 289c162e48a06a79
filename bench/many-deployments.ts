/**
 * What deployments cost while nobody asks anything, and how soon all of them serve again after the platform was
 * killed or stopped. `node bench/many-deployments.ts [--counts 1,3,33] [--seconds 60] [--settle 240] [--only idle|restart]
 * [--keep]`.
 */

import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import pg from "pg";
import { freePort } from "../tests/support/components/free-port.ts";
import { startGitServer } from "../tests/support/components/git-server.ts";
import { deploy, gitDeployment } from "../tests/support/deployments.ts";
import { quickInstall, quickProject } from "../tests/support/quick-project.ts";
import { createDataParent, type RunningTreadle, startTreadle } from "../tests/support/treadle.ts";
import { type Cost, costOf, endedChildrenMs, withDescendants } from "./process-cost.ts";

const { values } = parseArgs({
  options: {
    counts: { type: "string", default: "1,3,33" },
    seconds: { type: "string", default: "60" },
    /** Before idle servers are measured: V8 gives memory back for some minutes after the last work. */
    settle: { type: "string", default: "240" },
    only: { type: "string" },
    /** Servers go on when the platform is stopped. */
    keep: { type: "boolean" },
    /** Kept, with its deployments, for the next time. */
    "data-dir": { type: "string" },
  },
});
const counts = values.counts.split(",").map(Number);
const seconds = Number(values.seconds);

const parent = await createDataParent("bench-many");
const dataDir = values["data-dir"] ?? `${parent.path}/data`;
const port = await freePort();
const apiKey = "a-key-for-the-bench-of-many";
const git = await startGitServer();
let serverRows: { pid: number; id: string }[] = [];
let treadle: RunningTreadle = await start();
const url = treadle.ready.url;
const known = await call<{ resources: { slug: string }[] }>("GET", "/v2/deployments?limit=100");
const slugs = known.body.resources.map(({ slug }) => slug);
await Promise.all(slugs.map((slug) => untilAnswered(`/d/${slug}/version`)));
const report: Record<string, unknown> = { machine: `${cpus().length} × ${cpus()[0]?.model}` };
try {
  const repository = await git.createRepository("many", quickProject("many"));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  for (const count of counts) {
    while (slugs.length < count) {
      const some = Array.from({ length: Math.min(4, count - slugs.length) }, (_, index) =>
        deploy({ call }, gitDeployment(`many-${slugs.length + index}`, repository.url, { source_config })),
      );
      for (const { deployment, revision } of await Promise.all(some)) {
        if (revision.status !== "DEPLOYED") throw new Error(revision.status_message ?? revision.status);
        slugs.push(deployment.slug);
      }
    }
    if (values.only !== "restart") report[`idle_${count}`] = await measureIdle();
  }
  if (values.only !== "idle") {
    report.after_kill = await measureRestart("SIGKILL");
    report.after_stop = await measureRestart("SIGTERM");
  }
} finally {
  await readServers();
  await treadle.stop();
  // Those that outlive it are nobody's any more.
  if (values.keep) for (const { pid } of serverRows) process.kill(-pid, "SIGKILL");
  await git.stop();
  await parent.remove();
}
console.log(JSON.stringify(report, null, 2));

function start(): Promise<RunningTreadle> {
  return startTreadle(["--data-dir", dataDir, "--port", String(port)], {
    env: {
      TREADLE_API_KEY: apiKey,
      ...(values.keep ? { TREADLE_KEEP_SERVERS: "true" } : {}),
      ...(process.env.TREADLE_LOG_LEVEL ? { TREADLE_LOG_LEVEL: process.env.TREADLE_LOG_LEVEL } : {}),
    },
  });
}

async function call<Body>(method: string, path: string, body?: unknown) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { "x-api-key": apiKey, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

function postgresPid(): number {
  return Number(readFileSync(`${dataDir}/postgres/data/postmaster.pid`, "utf8").split("\n")[0]);
}

/** What the platform alone, the database and the deployed servers with their walls have used so far. */
function readCosts(): Record<"platform" | "database" | "servers", Cost> {
  const postmaster = postgresPid();
  const database = costOf(withDescendants([postmaster]));
  return {
    platform: costOf([treadle.pid]),
    // With what came and went meanwhile.
    database: { ...database, cpuMs: database.cpuMs + endedChildrenMs(postmaster) },
    servers: costOf(withDescendants(serverRows.map(({ pid }) => pid))),
  };
}

async function ask<Row extends object>(text: string): Promise<Row[]> {
  const runtime = JSON.parse(readFileSync(`${dataDir}/runtime.json`, "utf8")) as Record<string, string>;
  const client = new pg.Client({ connectionString: runtime.databaseUrl });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

async function readServers(): Promise<void> {
  serverRows = await ask(
    "select id, (handle->>'pid')::int as pid from deployment_instances where state in ('starting', 'ready')",
  );
}

async function measureIdle() {
  // What a start leaves to do: replaced servers, pool connections that are given up, garbage.
  await pause(Number(values.settle) * 1_000);
  await readServers();
  const connections = await ask<{ database: string; count: number }>(
    "select case when datname like 'treadle_d_%' then 'servers' else 'platform' end as database, count(*)::int from pg_stat_activity where datname is not null and pid <> pg_backend_pid() group by 1",
  );
  const before = readCosts();
  const began = performance.now();
  await pause(seconds * 1000);
  const ms = performance.now() - began;
  const after = readCosts();
  return {
    platform: rate(before.platform, after.platform, ms),
    database: rate(before.database, after.database, ms),
    servers: rate(before.servers, after.servers, ms),
    connections: Object.fromEntries(connections.map(({ database, count }) => [database, count])),
    load: loadavg()[0]!.toFixed(2),
  };
}

function rate(before: Cost, after: Cost, ms: number) {
  return {
    cpu_percent: Number((((after.cpuMs - before.cpuMs) / ms) * 100).toFixed(2)),
    wakeups_per_second: Number((((after.switches - before.switches) / ms) * 1000).toFixed(1)),
    memory_mb: Math.round(after.memoryMb),
  };
}

async function measureRestart(signal: "SIGKILL" | "SIGTERM") {
  await readServers();
  const before = new Set(serverRows.map(({ pid }) => pid));
  const load = loadavg()[0]!.toFixed(2);
  const stopping = performance.now();
  treadle.signal(signal);
  await treadle.exited;
  const starting = performance.now();
  const answers = untilAnswered("/ok");
  const [started, ok] = await Promise.all([start(), answers]);
  treadle = started;
  const serving = await Promise.all(slugs.map((slug) => untilAnswered(`/d/${slug}/version`)));
  serving.sort((a, b) => a - b);
  await readServers();
  return {
    stop_ms: Math.round(starting - stopping),
    start_to_ok_ms: Math.round(ok - starting),
    ok_to_first_serving_ms: Math.round(serving[0]! - ok),
    ok_to_all_serving_ms: Math.round(serving.at(-1)! - ok),
    servers_kept: serverRows.filter(({ pid }) => before.has(pid)).length,
    load,
  };
}

async function untilAnswered(path: string): Promise<number> {
  for (;;) {
    const answered = await fetch(`${url}${path}`, { headers: { "x-api-key": apiKey } }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.ok;
      },
      () => false,
    );
    if (answered) return performance.now();
    await pause(100);
  }
}
