import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import autocannon from "autocannon";
import { formatTable, median } from "./load.ts";

/** How fast does it start, answer and sleep? `node bench/foundation.ts` */
const root = fileURLToPath(new URL("..", import.meta.url));

type Running = { url: string; pid: number; startMs: number; stop(): Promise<void> };

/** The real command, from launch to the first good answer of /ok. */
async function start(dataDir: string): Promise<Running> {
  const began = performance.now();
  const child = spawn(
    join(root, "node_modules/.bin/node"),
    [join(root, "bin/treadle.js"), "up", "--json", "--port", "0", "--data-dir", dataDir],
    { env: { ...process.env, TREADLE_LOG_LEVEL: "warn" }, stdio: ["ignore", "pipe", "inherit"] },
  );
  const ready = await new Promise<{ url: string; pid: number }>((resolve, reject) => {
    let text = "";
    child.once("exit", (code) => reject(new Error(`ended with ${code}`)));
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk;
      const line = text.split("\n").find((each) => each.includes('"url"'));
      if (line) resolve(JSON.parse(line));
    });
  });
  const answer = await fetch(`${ready.url}/ok`);
  if (!answer.ok) throw new Error(`/ok answered ${answer.status}`);
  return {
    ...ready,
    startMs: performance.now() - began,
    stop: () =>
      new Promise((resolve) => {
        child.removeAllListeners("exit");
        child.once("exit", () => resolve());
        child.kill("SIGTERM");
      }),
  };
}

type Requests = { "per s": number; "p50 ms": number; "p99 ms": number };

async function requests(
  url: string,
  seconds: number,
  headers: Record<string, string> = {},
): Promise<Requests> {
  const result = await autocannon({ url, connections: 32, duration: seconds, headers });
  return { "per s": result.requests.average, "p50 ms": result.latency.p50, "p99 ms": result.latency.p99 };
}

function residentMb(pid: number): number {
  return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)]).toString()) / 1024;
}

export type FoundationFigures = {
  firstStartMs: number;
  warmStartsMs: number[];
  idleMb: number;
  ok: Requests;
  keys: Requests;
};

export async function measureFoundation(options: {
  rounds: number;
  idleMs: number;
  seconds: number;
}): Promise<FoundationFigures> {
  const folder = mkdtempSync(join(tmpdir(), "treadle-bench-"));
  execFileSync("chmod", ["711", folder]);
  const dataDir = join(folder, "data");
  const first = await start(dataDir);
  await first.stop();
  const warmStartsMs: number[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const running = await start(dataDir);
    warmStartsMs.push(running.startMs);
    await running.stop();
  }
  const running = await start(dataDir);
  await delay(options.idleMs);
  const idleMb = residentMb(running.pid);
  const { api_key } = JSON.parse(readFileSync(join(dataDir, "credentials.json"), "utf8")) as {
    api_key: string;
  };
  const ok = await requests(`${running.url}/ok`, options.seconds);
  const keys = await requests(`${running.url}/v2/api-keys`, options.seconds, { "x-api-key": api_key });
  await running.stop();
  rmSync(folder, { recursive: true, force: true });
  return { firstStartMs: first.startMs, warmStartsMs, idleMb, ok, keys };
}

async function main(): Promise<void> {
  const rounds = 5;
  const figures = await measureFoundation({ rounds, idleMs: 10_000, seconds: 5 });
  console.log(
    formatTable([
      { question: "first start to /ok, ms", figure: figures.firstStartMs },
      { question: `warm start to /ok, ms (median of ${rounds})`, figure: median(figures.warmStartsMs) },
      { question: "idle memory, MB (Postgres aside)", figure: figures.idleMb },
    ]),
  );
  console.log();
  console.log(
    formatTable([
      { request: "GET /ok", ...figures.ok },
      { request: "GET /v2/api-keys", ...figures.keys },
    ]),
  );
}

if (import.meta.main) await main();
