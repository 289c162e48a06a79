import { type ChildProcessByStdio, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { loadavg } from "node:os";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { newId } from "../src/platform/ids.ts";
import { formatTable, percentile } from "./load.ts";

/**
 * How many runs a second does ingestion keep up with? Runs of about 2.75 KB in batches of 100, as the JavaScript
 * client sends them (chunked multipart, with ids in the order of time), 8 batches at once; server, database and this
 * process on one machine. Asked again each time so many runs are stored and PostgreSQL has vacuumed and analyzed them.
 * Arguments: batches, clients, stored amounts, the engine of the runs (postgres, clickhouse), a folder for the
 * server's processor profile.
 */
const runsPerBatch = 100;

const words =
  "the quick brown fox jumps over a lazy dog while seven wizards brew potent coffee under quiet stars".split(
    " ",
  );
function text(size: number): string {
  let result = "";
  while (result.length < size) result += `${words[Math.floor(Math.random() * words.length)]} `;
  return result.slice(0, size);
}

function part(name: string, value: unknown, boundary: string): string {
  const content = JSON.stringify(value);
  const head = `Content-Disposition: form-data; name="${name}"\r\nContent-Type: application/json; length=${Buffer.byteLength(content)}`;
  return `--${boundary}\r\n${head}\r\n\r\n${content}\r\n`;
}

/** Traces of ten runs: one root, model calls with usage below it. */
function makeBatch(boundary: string): Buffer {
  let body = "";
  for (let index = 0; index < runsPerBatch / 10; index++) {
    const trace = newId();
    const start = new Date();
    const rootOrder = `${start.toISOString().replaceAll(/[-:.Z]/g, "")}000Z${trace}`;
    for (let child = 0; child < 10; child++) {
      const id = child === 0 ? trace : newId();
      const isModel = child % 3 === 1;
      const order = child === 0 ? rootOrder : `${rootOrder}.${rootOrder.slice(0, 22)}${id}`;
      const main = {
        id,
        trace_id: trace,
        dotted_order: order,
        ...(child > 0 && { parent_run_id: trace }),
        name: isModel ? "ChatModel" : child === 0 ? "agent" : "tool",
        run_type: isModel ? "llm" : child === 0 ? "chain" : "tool",
        start_time: start.toISOString().replace("Z", "000Z"),
        end_time: start.getTime() + 1_200,
        session_name: "bench",
        tags: ["bench", `v${child}`],
        child_runs: [],
      };
      body += part(`post.${id}`, main, boundary);
      body += part(`post.${id}.inputs`, { messages: [{ role: "user", content: text(850) }] }, boundary);
      const usage = { input_tokens: 200, output_tokens: 150, total_tokens: 350 };
      const outputs = { role: "assistant", content: text(800), ...(isModel && { usage_metadata: usage }) };
      body += part(`post.${id}.outputs`, outputs, boundary);
      const metadata = {
        ls_provider: "openai",
        ls_model_name: "gpt-4o-mini",
        user_id: `user-${index}`,
        thread_id: trace,
        env: "prod",
      };
      const runtime = { library: "langsmith", runtime: "node", sdk: "langsmith-js", platform: "linux-x64" };
      body += part(`post.${id}.extra`, { metadata, runtime }, boundary);
    }
  }
  return Buffer.from(`${body}--${boundary}--\r\n`);
}

type Ready = { url: string; apiKey: string; postgresPid: number; clickHousePid?: number };
type Place = {
  server: ChildProcessByStdio<Writable, Readable, null>;
  ready: Ready;
  agent: Agent;
  /** Asks the server for what is no request, and reads the size of what it stores. */
  command(line: string): Promise<{ tableBytes: number; stored: number }>;
};

async function startServer(engine: string, clients: number, profileFolder?: string): Promise<Place> {
  const server = spawn(
    process.execPath,
    [
      ...(profileFolder ? ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`] : []),
      fileURLToPath(new URL("./fixtures/traces-server.ts", import.meta.url)),
      engine,
    ],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const ready = JSON.parse((await lines.next()).value as string) as Ready;
  return {
    server,
    ready,
    agent: new Agent({ keepAlive: true, maxSockets: clients }),
    async command(line) {
      server.stdin.write(`${line}\n`);
      return JSON.parse((await lines.next()).value as string);
    },
  };
}

const boundary = "----bench-boundary";

function send({ ready, agent }: Place, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${ready.url}/api/v1/runs/multipart`, {
      method: "POST",
      agent,
      headers: {
        "x-api-key": ready.apiKey,
        "content-type": `multipart/form-data; boundary=${boundary}`,
        "transfer-encoding": "chunked",
      },
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      response.resume();
      response.on("end", () =>
        response.statusCode === 202 ? resolve() : reject(new Error(`status ${response.statusCode}`)),
      );
    });
    for (let at = 0; at < body.byteLength; at += 65_536) sent.write(body.subarray(at, at + 65_536));
    sent.end();
  });
}

/** Seconds of processor time of a process and its children, as Linux counts them. */
function cpuSeconds(pid: number, withChildren: boolean): number {
  const fields = (id: number) => readFileSync(`/proc/${id}/stat`, "utf8").split(") ")[1]!.split(" ");
  const own = fields(pid);
  let ticks = Number(own[11]) + Number(own[12]);
  if (withChildren) {
    ticks += Number(own[13]) + Number(own[14]);
    for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
      try {
        const child = fields(Number(name));
        if (Number(child[1]) === pid) ticks += Number(child[11]) + Number(child[12]);
      } catch {
        // It ended meanwhile.
      }
    }
  }
  return ticks / 100;
}

function memoryOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

async function measure(place: Place, batches: number, clients: number): Promise<Record<string, number>> {
  const { server, ready, command } = place;
  const bodies = Array.from({ length: batches }, () => makeBatch(boundary));
  const bytes = bodies.reduce((sum, body) => sum + body.byteLength, 0);
  const { clickHousePid } = ready;
  const before = {
    node: cpuSeconds(server.pid!, false),
    postgres: cpuSeconds(ready.postgresPid, true),
    clickHouse: clickHousePid ? cpuSeconds(clickHousePid, false) : 0,
  };
  const stored = (await command("size")).stored;
  const times: number[] = [];
  let next = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let body = bodies[next++]; body; body = bodies[next++]) {
        const at = performance.now();
        await send(place, body);
        times.push(performance.now() - at);
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  const runs = batches * runsPerBatch;
  const cpu = (after: number, from: number) => ((after - from) / runs) * 1e6;
  const node = cpu(cpuSeconds(server.pid!, false), before.node);
  const postgres = cpu(cpuSeconds(ready.postgresPid, true), before.postgres);
  const size = await command("size");
  if (size.stored !== stored + runs)
    console.error(`${runs} runs were acknowledged, ${size.stored - stored} are stored.`);
  times.sort((a, b) => a - b);
  return {
    "stored before": stored,
    "runs/s": runs / seconds,
    "MB/s": bytes / seconds / 1e6,
    "p50 ms": percentile(times, 50),
    "p99 ms": percentile(times, 99),
    "server CPU us/run": node,
    "Postgres CPU us/run": postgres,
    ...(clickHousePid && {
      "ClickHouse CPU us/run": cpu(cpuSeconds(clickHousePid, false), before.clickHouse),
      "ClickHouse RSS MB": memoryOf(clickHousePid),
    }),
    "server RSS MB": memoryOf(server.pid!),
    "stored bytes/run": size.tableBytes / size.stored,
    load: loadavg()[0]!,
  };
}

/** A server that had nothing to do while rows were copied has dropped compiled code, which takes a second to come back. */
async function warmUp(place: Place): Promise<void> {
  for (const body of Array.from({ length: 50 }, () => makeBatch(boundary))) await send(place, body);
}

/** A row for each amount that is stored before. */
export async function measureIngestion(options: {
  batches: number;
  clients: number;
  stages: readonly number[];
  engine: string;
  profileFolder?: string | undefined;
  onRow?: (row: Record<string, number>) => void;
}): Promise<Record<string, number>[]> {
  const place = await startServer(options.engine, options.clients, options.profileFolder);
  const rows: Record<string, number>[] = [];
  try {
    // What rows are copied from.
    await warmUp(place);
    for (const stage of options.stages) {
      await place.command(`fill ${stage}`);
      await warmUp(place);
      const row = await measure(place, options.batches, options.clients);
      options.onRow?.(row);
      rows.push(row);
    }
  } finally {
    place.server.stdin.end();
    place.agent.destroy();
  }
  return rows;
}

async function main(): Promise<void> {
  const [batches = "200", clients = "8", stages, engine = "postgres", profileFolder] = process.argv.slice(2);
  const rows = await measureIngestion({
    batches: Number(batches),
    clients: Number(clients),
    stages: (stages ?? "5000,100000,500000,1000000").split(",").map(Number),
    engine,
    profileFolder,
    onRow: (row) => console.log(formatTable([row])),
  });
  console.log(formatTable(rows));
}

if (import.meta.main) await main();
