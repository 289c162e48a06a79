import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rm, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { HttpClient } from "./http-client.ts";

/** What is measured side by side: our agent server and the open in-memory one, with the same graphs. */
const root = fileURLToPath(new URL("..", import.meta.url));
const project = join(root, "bench/fixtures/agents");
export const peerPackage = "@langchain/langgraph-cli@1.5.1";

export type Subject = {
  name: string;
  start(port: number): ChildProcess;
  /** What it answers when it serves; `/ok` unless it has another. */
  health?: string;
};

export const ours: Subject = {
  name: "treadle",
  start: (port) => startAgent(port, {}),
};

/** The same on a database that is there already. */
export function oursOn(databaseUrl: string): Subject {
  return { name: "treadle, grown", start: (port) => startAgent(port, { DATABASE_URL: databaseUrl }) };
}

/** The code of another checkout, with its packages installed. */
export function oursIn(checkout: string): Subject {
  return { name: "treadle, before", start: (port) => startAgent(port, {}, checkout) };
}

function startAgent(port: number, environment: Record<string, string>, checkout = root): ChildProcess {
  const data = mkdtempSync(join(tmpdir(), "treadle-bench-"));
  const child = spawn(
    join(checkout, "node_modules/.bin/node"),
    [
      join(checkout, "bin/treadle.js"),
      "agent",
      "--config",
      join(project, "langgraph.json"),
      "--port",
      String(port),
    ],
    {
      env: { ...process.env, TREADLE_DATA_DIR: data, TREADLE_LOG_LEVEL: "warn", ...environment },
      stdio: "ignore",
      detached: true,
    },
  );
  // Nobody waits for it: what is left of a database that is still ending stays.
  child.once("exit", () => rm(data, { recursive: true, force: true }, () => undefined));
  return child;
}

/** The whole platform, whose built-in graphs run and are traced in its own process. */
export function platform(options: { tracing: boolean; apiKey: string }): Subject {
  return {
    name: `treadle up, tracing ${options.tracing ? "on" : "off"}`,
    start: (port) =>
      spawn(
        join(root, "node_modules/.bin/node"),
        [join(root, "bin/treadle.js"), "up", "--port", String(port)],
        {
          env: {
            ...process.env,
            TREADLE_DATA_DIR: mkdtempSync(join(tmpdir(), "treadle-bench-")),
            TREADLE_LOG_LEVEL: "warn",
            TREADLE_API_KEY: options.apiKey,
            TREADLE_TRACING: String(options.tracing),
          },
          stdio: "ignore",
          detached: true,
        },
      ),
  };
}

export const peer: Subject = {
  name: "peer",
  start: (port) => {
    const folder = installPeer();
    return spawn(
      join(folder, "node_modules/.bin/langgraphjs"),
      [
        ...["dev", "--no-browser", "--port", String(port), "--config", join(folder, "langgraph.json")],
        // It takes as an argument what ours reads from the environment: how many runs it executes at once.
        ...(process.env.N_JOBS_PER_WORKER ? ["--n-jobs-per-worker", process.env.N_JOBS_PER_WORKER] : []),
      ],
      { cwd: folder, env: { ...process.env, LANGSMITH_TRACING: "false" }, stdio: "ignore", detached: true },
    );
  },
};

/** Why it cannot be had, or undefined. */
export function missingPeer(): string | undefined {
  try {
    installPeer();
    return undefined;
  } catch (error) {
    return `${peerPackage} could not be installed: ${String(error).split("\n")[0]}`;
  }
}

/** The open server in a folder of its own, with the same graphs. */
function installPeer(): string {
  const folder = join(tmpdir(), "treadle-bench-peer");
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, "node_modules/.bin/langgraphjs"))) {
    const description = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as object;
    // A dependency of its dependencies asks for a newer one than registries may have; pinned as the others are.
    const overrides = { "@langchain/protocol": "0.0.19" };
    writeFileSync(join(folder, "package.json"), JSON.stringify({ ...description, overrides }));
    const packages = [peerPackage, "@langchain/langgraph@1.4.18", "@langchain/core@1.2.13"];
    execFileSync("npm", ["install", "--legacy-peer-deps", "--no-audit", "--no-fund", ...packages], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    });
  }
  for (const file of ["graphs.mjs", "langgraph.json"]) cpSync(join(project, file), join(folder, file));
  return folder;
}

/** Ends the subject and everything it started. */
export async function stop(child: ChildProcess): Promise<void> {
  // It ended by itself: why is in what it printed.
  if (child.exitCode !== null || child.signalCode !== null) return;
  process.kill(-child.pid!, "SIGTERM");
  await Promise.race([new Promise((resolve) => child.once("exit", resolve)), delay(10_000)]);
}

export async function untilHealthy(http: HttpClient, path = "/ok"): Promise<void> {
  const until = performance.now() + 60_000;
  for (;;) {
    try {
      await http.call("GET", path);
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
      await delay(20);
    }
  }
}

/** Of the process and its children, without Postgres. */
export function memoryOf(pid: number): number {
  const rows = familyOf(pid).filter(({ name }) => name !== "postgres");
  return rows.reduce((sum, { rss }) => sum + rss, 0) / 1024;
}

export type FamilyProcess = { id: number; parent: number; rss: number; name: string };

/** The process and whatever it started. */
export function familyOf(pid: number): FamilyProcess[] {
  const table = execFileSync("ps", ["-eo", "pid=,ppid=,rss=,comm="]).toString().trim().split("\n");
  const rows = table
    .map((line) => line.trim().split(/\s+/))
    .map(([id, parent, rss, name]) => ({
      id: Number(id),
      parent: Number(parent),
      rss: Number(rss),
      name: name!,
    }));
  const family = new Set([pid]);
  for (let grown = true; grown; ) {
    grown = false;
    for (const row of rows)
      if (family.has(row.parent) && !family.has(row.id)) grown = Boolean(family.add(row.id));
  }
  return rows.filter((row) => family.has(row.id));
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
