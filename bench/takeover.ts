/**
 * How soon another control plane has all deployments in its hands after the one that had them was killed.
 * `npm run bench -- takeover [DEPLOYMENTS] [ROUNDS]`. One deployment is built; the others are rows with the same build.
 * Each has a real process that serves nothing but `/ok`. When the leader is dead, ten servers are killed as well: the next
 * leader has taken over when it has found that out by itself and ten others serve.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { raw } from "../src/platform/db/raw.ts";
import { freePort } from "../tests/support/components/free-port.ts";
import { startGitServer } from "../tests/support/components/git-server.ts";
import { createTempFolder } from "../tests/support/components/temp-folder.ts";
import { deploy, gitDeployment } from "../tests/support/deployments.ts";
import { quickInstall, quickProject } from "../tests/support/quick-project.ts";
import { openBenchDatabase } from "./bench-database.ts";
import { copyDeployment } from "./deployment-copies.ts";

type Server = { pid: number; deployment_id: string };
/** Until another process has the lease; from there until all serve. */
type Takeover = { lease_ms: number; after_lease_ms: number };

const count = Number(process.argv[2] ?? 200);
const rounds = Number(process.argv[3] ?? 3);
const killed = 10;
const planeScript = fileURLToPath(new URL("takeover-plane.ts", import.meta.url));
/** Of both: servers that were started with another address would be replaced, not taken over. */
const publicUrl = "http://platform.localhost";
const identity = {
  apiKey: "a-key-for-the-bench-of-takeovers",
  workspaceId: "5e1f0000-0000-4000-8000-000000000009",
};
const [{ database, url: databaseUrl, stop }, folder, git] = await Promise.all([
  openBenchDatabase(),
  createTempFolder("bench-takeover"),
  startGitServer(),
]);
const planes: { port: number; child: ReturnType<typeof spawn> }[] = [];
try {
  planes.push(await startPlane());
  const repository = await git.createRepository("small", quickProject("small"));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  const made = await deploy({ call }, gitDeployment("small", repository.url, { source_config }));
  if (made.revision.status !== "DEPLOYED") throw new Error(made.revision.status_message ?? "not deployed");
  await copyDeployment(database, "a secret key for tests only", {
    ...{ of: made.deployment.id, name: "small", count: count - 1, withDatabase: count - 1 },
  });
  await raw`select pg_notify('treadle_deployments', id::text) from deployments`.execute(database.sql);
  await untilServing(count);
  const times: Takeover[] = [];
  for (let round = 0; round < rounds; round += 1) {
    planes.push(await startPlane());
    times.push(await measureTakeover());
    console.log(`round ${round + 1}: ${JSON.stringify(times.at(-1))}`);
  }
  times.sort((a, b) => a.after_lease_ms - b.after_lease_ms);
  console.log(JSON.stringify({ deployments: count, killed, median: times[times.length >> 1], times }));
} finally {
  for (const { child } of planes) child.kill("SIGKILL");
  for (const { pid } of await servers()) process.kill(pid, "SIGKILL");
  await stop();
  await git.stop();
  await folder.remove();
}

async function startPlane() {
  const port = await freePort();
  const options = { databaseUrl, folder: folder.path, port, publicUrl, ...identity };
  const child = spawn(process.execPath, [planeScript, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return { port, child };
}

async function call<Body>(method: string, path: string, body?: unknown) {
  const response = await fetch(`http://127.0.0.1:${planes[0]!.port}${path}`, {
    method,
    headers: { "x-api-key": identity.apiKey, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

async function servers(): Promise<Server[]> {
  const { rows } = await raw<Server>`
    select (handle->>'pid')::int as pid, deployment_id from deployment_instances
    where state = 'ready' order by deployment_id`.execute(database.sql);
  return rows;
}

async function untilServing(wanted: number, except: ReadonlySet<number> = new Set()): Promise<void> {
  for (;;) {
    const serving = (await servers()).filter(({ pid }) => !except.has(pid));
    if (new Set(serving.map(({ deployment_id }) => deployment_id)).size === wanted) return;
    await pause(20);
  }
}

/** The others must be those of before: to start all of them again is no takeover. */
async function requireKept(before: readonly Server[], victims: readonly Server[]): Promise<void> {
  const now = new Set((await servers()).map(({ pid }) => pid));
  const lost = before.filter((one) => !victims.includes(one) && !now.has(one.pid));
  if (lost.length > 0) throw new Error(`${lost.length} servers were started again instead of kept.`);
}

async function leaseOwner(): Promise<string | undefined> {
  const { rows } = await raw<{ owner: string }>`select owner from control_plane_lease`.execute(database.sql);
  return rows[0]?.owner;
}

async function untilLeaseMoves(from: string | undefined): Promise<number> {
  for (;;) {
    if ((await leaseOwner()) !== from) return performance.now();
    await pause(20);
  }
}

async function measureTakeover(): Promise<Takeover> {
  const owner = await leaseOwner();
  const before = await servers();
  const leader = planes.shift()!;
  const step = Math.floor(before.length / killed);
  const victims = before.filter((_, index) => index % step === 0).slice(0, killed);
  const began = performance.now();
  leader.child.kill("SIGKILL");
  for (const { pid } of victims) process.kill(pid, "SIGKILL");
  const [taken] = await Promise.all([
    untilLeaseMoves(owner),
    untilServing(count, new Set(victims.map(({ pid }) => pid))),
  ]);
  const ms = performance.now();
  await requireKept(before, victims);
  return { lease_ms: Math.round(taken - began), after_lease_ms: Math.round(ms - taken) };
}
