import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import pg from "pg";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { descendantsOf, isRunning, killAll } from "../support/components/process-table.ts";
import type { TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { prepareDataDir } from "../support/prepared-data.ts";
import { createDataParent, type RunningTreadle, startTreadle } from "../support/treadle.ts";

// A server with two worker processes and its own PostgreSQL, on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const secretKey = "a-secret-that-no-process-table-shows";
const modelKey = "a-model-key-that-no-process-table-shows";

let parent: TempFolder;
let dataDir: string;
let server: RunningTreadle;
let client: Client;

beforeAll(async () => {
  parent = await createDataParent("worker processes");
  dataDir = await prepareDataDir(join(parent.path, "data"));
  await start();
});
afterAll(async () => {
  const pids = workers().map(({ pid }) => pid);
  await server?.stop();
  await killAll(pids.filter(isRunning));
  await parent?.remove();
});

async function start(): Promise<void> {
  server = await startTreadle(["--data-dir", dataDir], {
    ownGroup: true,
    env: {
      TREADLE_WORKERS: "2",
      TREADLE_SECRET_KEY: secretKey,
      MISTRAL_API_KEY: modelKey,
      TREADLE_LOG_LEVEL: "info",
      TREADLE_RUN_LEASE_SECONDS: "2",
      TREADLE_SHUTDOWN_GRACE_SECONDS: "40",
    },
  });
  client = new Client({ apiUrl: server.ready.url, callerOptions: { maxRetries: 0 } });
}

type Line = { worker?: number; pid?: number; msg: string; signal?: string; runId?: string; runs?: string[] };

function logged(): Line[] {
  const lines = server.stderr().split("\n");
  // The last one may be on its way.
  return lines.slice(0, -1).flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as Line] : []));
}

/** Every start of a worker process that came to be ready. */
function workers(): { worker: number; pid: number }[] {
  return logged()
    .filter(({ msg }) => msg === "a worker process is ready")
    .map(({ worker, pid }) => ({ worker: worker!, pid: pid! }));
}

async function query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
  const { databaseUrl } = JSON.parse(readFileSync(join(dataDir, "runtime.json"), "utf8")) as {
    databaseUrl: string;
  };
  const connection = new pg.Client({ connectionString: databaseUrl });
  await connection.connect();
  try {
    return (await connection.query<Row>(text, values)).rows;
  } finally {
    await connection.end();
  }
}

type Made = { thread_id: string; run_id: string };

/** One that goes on for a while, word by word. */
async function slowRun(delayMs: number): Promise<Made> {
  const { thread_id } = await client.threads.create();
  const { run_id } = await client.runs.create(thread_id, "agent", {
    input: { messages: [{ role: "user", content: "Tell me about weaving." }] },
    // Only a reply that is streamed takes its time.
    streamMode: ["messages-tuple"],
    config: { configurable: { token_delay_ms: delayMs } },
  });
  return { thread_id, run_id };
}

type Row = { status: string; lease_owner: string | null; attempt: number };

async function rowOf({ run_id }: Made): Promise<Row> {
  const [row] = await query<Row>("select status, lease_owner, attempt from runs where run_id = $1", [run_id]);
  return row!;
}

const takenUp = (made: Made) =>
  waitUntil(async () => (await rowOf(made)).lease_owner, { what: "the run's lease", timeoutMs: 30_000 });

type Held = { run_id: string; lease_owner: string };

/** Runs under way in both worker processes: they are dealt in turn, though some that come together go to one. */
async function busyOnBoth(delayMs: number): Promise<{ made: Made[]; held: Held[] }> {
  const made: Made[] = [];
  const held = await waitUntil(
    async () => {
      made.push(await slowRun(delayMs));
      const rows = await query<Held>("select run_id, lease_owner from runs where status = 'running'");
      return new Set(rows.map(({ lease_owner }) => lease_owner)).size === 2 && rows;
    },
    { what: "runs in both processes", timeoutMs: 60_000 },
  );
  return { made, held };
}

async function ended({ thread_id, run_id }: Made): Promise<void> {
  await client.runs.join(thread_id, run_id);
  expect(await client.runs.get(thread_id, run_id)).toMatchObject({ status: "success" });
}

test("runs are executed by both worker processes, and none by the server itself", async () => {
  expect(server.ready.worker_processes).toBe(2);
  expect(workers().map(({ worker }) => worker)).toHaveLength(2);
  const takers = await query<{ process_id: string }>(
    "select process_id from server_processes where takes_runs",
  );
  expect(takers).toHaveLength(2);
  const { made, held } = await busyOnBoth(100);
  const owners = new Set(held.map(({ lease_owner }) => lease_owner));
  expect([...owners].sort()).toEqual(takers.map(({ process_id }) => process_id).sort());
  await Promise.all(made.map(ended));
});

test("the server answers for them: what it serves, its readiness and its metrics", async () => {
  const get = async (path: string) => (await fetch(`${server.ready.url}${path}`)).text();
  expect(JSON.parse(await get("/info"))).toMatchObject({
    metadata: { roles: ["all"], worker_processes: { count: 2, ready: 2 } },
  });
  expect(JSON.parse(await get("/ready"))).toMatchObject({ ready: true, roles: ["all"], problems: [] });
  const metrics = await get("/metrics");
  expect(metrics).toContain("\nlg_api_worker_processes 2\n");
  const cpu = [...metrics.matchAll(/^lg_api_process_cpu_seconds_total(\S*) ([\d.]+)$/gm)];
  expect(cpu.map(([, labels]) => labels)).toEqual(["", '{worker="1"}', '{worker="2"}']);
  for (const [, , seconds] of cpu) expect(Number(seconds)).toBeGreaterThan(0);
  // Each name is explained once.
  expect(metrics.match(/^# TYPE lg_api_process_cpu_seconds_total /gm)).toHaveLength(1);
});

test("no secret is on their command line or in the environment they were started with", () => {
  for (const { pid } of workers()) {
    const told = ["cmdline", "environ"]
      .map((file) => readFileSync(`/proc/${pid}/${file}`, "utf8"))
      .join("\0");
    expect(told).toContain("PATH=");
    expect(told).toContain("MALLOC_ARENA_MAX=2");
    for (const secret of [secretKey, modelKey, "postgres://"]) expect(told).not.toContain(secret);
  }
});

/** The server's own PostgreSQL, with all its connections: stopped, it takes connections and answers nothing. */
function signalDatabase(signal: "SIGSTOP" | "SIGCONT"): void {
  const isPostgres = (pid: number) => /postgres/.test(readFileSync(`/proc/${pid}/comm`, "utf8"));
  for (const pid of descendantsOf(server.pid).filter(isPostgres)) process.kill(pid, signal);
}

type Streamed = { event: string; id?: string; data: unknown };

test("the database is away for longer than a lease: nothing ends, and each run is taken up again", async () => {
  const before = workers();
  const seen: Streamed[][] = [];
  const streams = [1, 2].map(async (_, index) => {
    const own: Streamed[] = [];
    seen[index] = own;
    const { thread_id } = await client.threads.create();
    const stream = client.runs.stream(thread_id, "agent", {
      input: { messages: [{ role: "user", content: "Tell me about weaving." }] },
      config: { configurable: { token_delay_ms: 80 } },
      streamMode: ["messages-tuple", "values"],
      streamResumable: true,
    });
    // The client makes an event without a name of a heartbeat.
    for await (const event of stream) if (event.event) own.push(event as Streamed);
  });
  const isSpeaking = (own: Streamed[]) => own.some(({ event }) => event === "messages");
  await waitUntil(() => seen.every(isSpeaking), { what: "the first words", timeoutMs: 60_000 });
  const given = () => logged().filter(({ msg }) => msg === "run handed back to the queue").length;
  const givenBefore = given();
  signalDatabase("SIGSTOP");
  try {
    await waitUntil(() => given() === givenBefore + 2, { what: "the ends of the leases", timeoutMs: 60_000 });
    const answered = await Promise.all(
      ["/health", "/info", "/metrics"].map(async (path) => (await fetch(server.ready.url + path)).status),
    );
    expect(answered).toEqual([200, 200, 200]);
  } finally {
    signalDatabase("SIGCONT");
  }
  await Promise.all(streams);
  for (const own of seen) {
    expect(own.map(({ id }) => Number(id))).toEqual(own.map((_, number) => number));
    const begun = own.filter(({ event }) => event === "metadata");
    // Usually 1 and 2. A claim that is answered after its lease, or a lease that ends on a busy machine, uses up a number.
    const attempts = begun.map(({ data }) => (data as { attempt: number }).attempt);
    expect(attempts[0]).toBe(1);
    expect(attempts.length).toBeGreaterThan(1);
    expect(attempts).toEqual([...new Set(attempts)].sort((a, b) => a - b));
    expect(own.at(-1)).toMatchObject({
      event: "values",
      data: { messages: [{ type: "human" }, { type: "ai" }] },
    });
  }
  expect(workers()).toEqual(before);
  expect(before.map(({ pid }) => pid).every(isRunning)).toBe(true);
});

test("one that is killed: another goes on with its run, and it is started again", async () => {
  const before = workers();
  // Far from their ends, however busy the machine is.
  const { made, held } = await busyOnBoth(1_000);
  process.kill(before[0]!.pid, "SIGKILL");
  const ownerOf = new Map(held.map(({ run_id, lease_owner }) => [run_id, lease_owner]));
  const next = await waitUntil(
    async () => {
      const rows = await query<Held>(
        "select run_id, lease_owner from runs where status = 'running' and attempt = 2 and lease_owner is not null",
      );
      return rows.find(({ run_id }) => ownerOf.has(run_id));
    },
    { what: "the next attempt", timeoutMs: 60_000 },
  );
  expect(next.lease_owner).not.toBe(ownerOf.get(next.run_id));
  const again = await waitUntil(() => workers()[2], { what: "the next process", timeoutMs: 60_000 });
  expect(again.worker).toBe(before[0]!.worker);
  expect(again.pid).not.toBe(before[0]!.pid);
  expect(logged()).toContainEqual(
    expect.objectContaining({ worker: again.worker, signal: "SIGKILL", pauseMs: 1_000 }),
  );
  // Its server knows that it is gone, and waits for no lease.
  const given = logged().filter(({ msg }) => msg === "runs of a lost process are started again");
  expect(given.flatMap(({ runs }) => runs ?? [])).toContain(next.run_id);
  // The next stop would wait for them; one may have ended by now.
  const cancel = ({ thread_id, run_id }: Made) =>
    client.runs.cancel(thread_id, run_id, true).catch(() => null);
  await Promise.all(made.map(cancel));
});

test("the server is killed: its worker processes end, and the next server goes on with the run", async () => {
  const pids = workers().map(({ pid }) => pid);
  const made = await slowRun(150);
  await takenUp(made);
  server.signal("SIGKILL");
  await server.exited;
  await waitUntil(() => !pids.some(isRunning), { what: "the end of the processes", timeoutMs: 60_000 });
  await start();
  await ended(made);
});

test("Ctrl-C reaches the server alone, which lets their runs finish and ends them", async () => {
  const pids = workers().map(({ pid }) => pid);
  const seen: string[] = [];
  let last: unknown;
  const { thread_id } = await client.threads.create();
  const stream = client.runs.stream(thread_id, "agent", {
    input: { messages: [{ role: "user", content: "Tell me about weaving." }] },
    config: { configurable: { token_delay_ms: 40 } },
    streamMode: ["messages-tuple", "values"],
  });
  for await (const { event, data } of stream) {
    if (event === "messages" && !seen.includes("messages")) process.kill(-server.pid, "SIGINT");
    seen.push(event);
    if (event === "values") last = data;
  }
  expect(seen).not.toContain("error");
  expect(last).toMatchObject({ messages: [{ type: "human" }, { type: "ai" }] });
  const { code, stdout } = await server.exited;
  expect(code).toBe(0);
  expect(JSON.parse(stdout.trim().split("\n").at(-1)!)).toEqual({ stopped: true, interrupted: [] });
  expect(pids.filter(isRunning)).toEqual([]);
  expect(logged().filter(({ msg }) => msg.includes("ended by itself"))).toEqual([]);
});
