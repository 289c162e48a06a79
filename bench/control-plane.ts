/**
 * How long a deployment takes (cold, warm, rollback), whether a switch costs requests, what the gateway adds, and
 * what many deployments cost. `node bench/control-plane.ts [--deployments 20] [--only deploy|switch|gateway|many]`.
 */
import { cpus } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import autocannon from "autocannon";
import { instanceSecretContext } from "../src/control-plane/encryption/sealed-columns.ts";
import { authorityOf } from "../src/control-plane/endpoints/endpoint.ts";
import { targetOf } from "../src/control-plane/gateway/target.ts";
import { findTarget } from "../src/control-plane/gateway/target-store.ts";
import { instanceSecretHeader } from "../src/control-plane/runtimes/instance-secret.ts";
import { migrate } from "../src/platform/db/schema/migrate.ts";
import { createLogger } from "../src/platform/logger.ts";
import { startGitServer } from "../tests/support/components/git-server.ts";
import { createTempFolder } from "../tests/support/components/temp-folder.ts";
import { type ControlPlaneServer, startControlPlane } from "../tests/support/control-plane.ts";
import {
  type DeploymentBody,
  deploy,
  gitDeployment,
  readExample,
  revisionDone,
} from "../tests/support/deployments.ts";
import { migrationsDirectory, startScratchServer } from "../tests/support/postgres.ts";
import { quickInstall, quickProject } from "../tests/support/quick-project.ts";
import { costOf, withDescendants } from "./process-cost.ts";

const { values } = parseArgs({
  options: { deployments: { type: "string", default: "20" }, only: { type: "string" } },
});
const wants = (name: string) => values.only === undefined || values.only === name;

const postgres = await startScratchServer();
await migrate({ url: postgres.url, directory: migrationsDirectory, logger: createLogger({ level: "warn" }) });
const git = await startGitServer();
const folder = await createTempFolder("bench-control-plane");
const plane = await startControlPlane({
  databaseUrl: postgres.url,
  folder: folder.path,
  settings: { bakeMs: 2_000, drainMs: 60_000 },
});
const report: Record<string, unknown> = {
  machine: `${cpus().length} × ${cpus()[0]?.model}`,
  node: process.version,
};
try {
  if (wants("deploy")) report.deploy = await measureDeploys(plane);
  if (wants("switch") || wants("gateway")) {
    const quick = await quickDeployment("quick");
    if (wants("switch")) report.switch = await measureSwitch(quick);
    if (wants("gateway")) report.gateway = await measureGateway(quick.deployment);
  }
  if (wants("many")) report.many = await measureMany(Number(values.deployments));
} finally {
  await plane.stop();
  await git.stop();
  await folder.remove();
  await postgres.stop();
}
console.log(JSON.stringify(report, null, 2));

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const started = performance.now();
  const result = await work();
  return { ms: Math.round(performance.now() - started), result };
}

async function measureDeploys(plane: ControlPlaneServer) {
  const files = await readExample("react-agent");
  const repository = await git.createRepository("react-agent", files);
  const cold = await timed(() => deploy(plane, gitDeployment("cold", repository.url)));
  await repository.commit({ "notes.txt": "another commit" }, "Another");
  const { id } = cold.result.deployment;
  const change = (body: unknown) => plane.call<DeploymentBody>("PATCH", `/v2/deployments/${id}`, body);
  const warm = await timed(async () => {
    const { body } = await change({ source_revision_config: { repo_ref: "main" } });
    return revisionDone(plane, id, body.latest_revision_id!);
  });
  const path = `/v2/deployments/${id}/revisions/${cold.result.revision.id}/redeploy`;
  const rollback = await timed(async () => {
    const { body } = await plane.call<DeploymentBody>("POST", path);
    return revisionDone(plane, id, body.latest_revision_id!);
  });
  const states = [cold.result.revision.status, warm.result.status, rollback.result.status];
  await plane.call("DELETE", `/v2/deployments/${id}`);
  return { states, cold_ms: cold.ms, warm_cache_ms: warm.ms, rollback_ms: rollback.ms };
}

async function quickDeployment(name: string) {
  const repository = await git.createRepository(name, quickProject("one"));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  const { deployment, revision } = await deploy(
    plane,
    gitDeployment(name, repository.url, { source_config }),
  );
  if (revision.status !== "DEPLOYED") throw new Error(`${name}: ${revision.status_message}`);
  return { repository, deployment };
}

/** 200 requests a second and ten open streams, while the revision changes three times. */
async function measureSwitch({ repository, deployment }: Awaited<ReturnType<typeof quickDeployment>>) {
  let sent = 0;
  const failures: string[] = [];
  let going = true;
  const pending = new Set<Promise<void>>();
  const one = async () => {
    sent += 1;
    try {
      const response = await fetch(`${deployment.url}/version`);
      await response.arrayBuffer();
      if (!response.ok) failures.push(String(response.status));
    } catch (error) {
      failures.push(String(error));
    }
  };
  const began = performance.now();
  const load = (async () => {
    while (going) {
      // By the clock, so that a slow moment is made up for.
      for (let due = Math.floor((performance.now() - began) / 5) - sent; due > 0; due -= 1) {
        const request = one().finally(() => pending.delete(request));
        pending.add(request);
      }
      await pause(5);
    }
  })();
  let streams = 0;
  const stream = async () => {
    while (going) {
      const text = await (await fetch(`${deployment.url}/slow`)).text();
      streams += 1;
      if (text.match(/^data: /gm)?.length !== 30) failures.push("a stream was cut off");
    }
  };
  const readers = Array.from({ length: 10 }, stream);
  const started = performance.now();
  for (const answer of ["two", "three", "four"]) {
    await repository.commit(quickProject(answer), answer);
    const { body } = await plane.call<DeploymentBody>("PATCH", `/v2/deployments/${deployment.id}`, {
      source_revision_config: { repo_ref: "main" },
    });
    await revisionDone(plane, deployment.id, body.latest_revision_id!);
    await pause(5_000);
  }
  going = false;
  await load;
  await Promise.all([...pending, ...readers]);
  const seconds = (performance.now() - started) / 1000;
  return {
    requests: sent,
    per_second: Math.round(sent / seconds),
    streams,
    failed: failures.length,
    failures: failures.slice(0, 5),
  };
}

type Way = { url: string; headers: Record<string, string> };

async function measureGateway(deployment: DeploymentBody) {
  const direct = await wayToServer(deployment);
  const gateway = { url: `${deployment.url}/version`, headers: {} };
  const run = async (way: Way, connections: number) => {
    const load = { ...way, connections, duration: 8, workers: 1 };
    const { latency, requests, non2xx, errors } = await autocannon(load);
    return {
      p50_ms: latency.p50,
      p99_ms: latency.p99,
      mean_ms: latency.mean,
      per_second: requests.mean,
      failed: non2xx + errors,
    };
  };
  const median = async ({ url, headers }: Way) => {
    const times: number[] = [];
    for (let index = 0; index < 1_500; index += 1) {
      const started = performance.now();
      const response = await fetch(url, { headers });
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${url} answered ${response.status}`);
      if (index >= 300) times.push(performance.now() - started);
    }
    times.sort((a, b) => a - b);
    return {
      p50_ms: times[Math.floor(times.length / 2)]!.toFixed(3),
      p99_ms: times[Math.floor(times.length * 0.99)]!.toFixed(3),
    };
  };
  return {
    one_at_a_time: { direct: await median(direct), gateway: await median(gateway) },
    sixteen_connections: { direct: await run(direct, 16), gateway: await run(gateway, 16) },
  };
}

/** Past the gateway, as the gateway itself asks: a server answers nobody who does not know its secret. */
async function wayToServer(deployment: DeploymentBody): Promise<Way> {
  const row = await findTarget(plane.database.sql, deployment.slug);
  const { instance } = targetOf(row!, (id, sealed) =>
    plane.secretBox.open(sealed, instanceSecretContext(id)),
  );
  const { secret, endpoints } = instance!;
  return {
    url: `http://${authorityOf(endpoints[0]!)}/version`,
    headers: secret === null ? {} : { [instanceSecretHeader]: secret },
  };
}

async function measureMany(count: number) {
  const repository = await git.createRepository("many", quickProject("many"));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  const all = await timed(() =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        deploy(plane, gitDeployment(`many-${index}`, repository.url, { source_config })),
      ),
    ),
  );
  const pids = await plane.database.query<{ pid: number }>(
    {
      name: "bench_1",
      text: "select (handle->>'pid')::int as pid from deployment_instances where state = 'ready'",
    },
    [],
  );
  // With its walls, which are processes too.
  const total = costOf(withDescendants(pids.map(({ pid }) => pid))).memoryMb;
  const [connections] = await plane.database.query<{ count: number }>(
    {
      name: "bench_2",
      text: "select count(*)::int as count from pg_stat_activity where datname like 'treadle_d_%'",
    },
    [],
  );
  return {
    deployments: count,
    states: [...new Set(all.result.map(({ revision }) => revision.status))],
    all_serving_ms: all.ms,
    memory_mb_each: Math.round(total / pids.length),
    memory_mb_all: Math.round(total),
    connections: connections!.count,
  };
}
