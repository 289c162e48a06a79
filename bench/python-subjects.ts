import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Subject } from "./subjects.ts";

/**
 * Servers of Python graphs, each with an environment of its own from the package index, kept between measurements.
 * BENCH_TREADLE_PYTHON, BENCH_LANGGRAPH_DEV and BENCH_AEGRA name environments that are there already.
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const project = join(root, "bench/fixtures/python-agents");

/** Ours, with that many Python processes. */
export function oursWith(workers: number): Subject {
  const named = process.env.BENCH_TREADLE_PYTHON;
  const python = join(environment("treadle", ["langgraph==1.2.20"], named), "python");
  return {
    name: `treadle, ${workers}`,
    start: (port) =>
      spawn(
        join(root, "node_modules/.bin/node"),
        [
          ...[join(root, "bin/treadle.js"), "agent", "--config", join(project, "langgraph.json")],
          ...["--port", String(port)],
        ],
        {
          env: {
            ...process.env,
            TREADLE_PYTHON: python,
            TREADLE_PYTHON_WORKERS: String(workers),
            TREADLE_DATA_DIR: mkdtempSync(join(tmpdir(), "treadle-bench-")),
            TREADLE_LOG_LEVEL: "warn",
          },
          stdio: "ignore",
          detached: true,
        },
      ),
  };
}

/** The open server of the graph library's authors, which keeps everything in memory. */
export function inMemory(): Subject {
  const programs = environment(
    "inmem",
    ["langgraph-cli[inmem]==0.4.40", "langgraph==1.2.20"],
    process.env.BENCH_LANGGRAPH_DEV,
  );
  return {
    name: "langgraph dev",
    start: (port) =>
      spawn(
        join(programs, "langgraph"),
        ["dev", "--no-browser", "--no-reload", "--port", String(port), "--n-jobs-per-worker", "32"],
        {
          cwd: copyOf("inmem"),
          env: { ...process.env, LANGSMITH_TRACING: "false" },
          stdio: "ignore",
          detached: true,
        },
      ),
  };
}

/** Aegra, on a database of its own in the given PostgreSQL. */
export function aegra(databaseUrl: string): Subject {
  const packages = ["aegra-cli==0.6.0", "aegra-api==0.6.0", "greenlet==3.2.4", "langgraph==1.2.20"];
  const programs = environment("aegra", packages, process.env.BENCH_AEGRA);
  return {
    name: "aegra",
    health: "/health",
    start: (port) => {
      const cwd = copyOf("aegra");
      cpSync(join(project, "langgraph.json"), join(cwd, "aegra.json"));
      return spawn(join(programs, "aegra"), ["serve", "--host", "127.0.0.1", "--port", String(port)], {
        cwd,
        env: { ...process.env, DATABASE_URL: databaseUrl, AUTH_TYPE: "noop", LOG_LEVEL: "WARNING" },
        stdio: "ignore",
        detached: true,
      });
    },
  };
}

/** The folder of programs of an environment with these packages, or of one that is named. */
function environment(name: string, packages: readonly string[], named?: string): string {
  if (named) return join(named, "bin");
  const folder = join(tmpdir(), `treadle-bench-python-${name}`);
  const ready = join(folder, "ready");
  if (!existsSync(ready)) {
    rmSync(folder, { recursive: true, force: true });
    execFileSync("python3", ["-m", "venv", folder]);
    execFileSync(join(folder, "bin", "pip"), ["install", "-q", ...packages], { stdio: "inherit" });
    writeFileSync(ready, packages.join("\n"));
  }
  return join(folder, "bin");
}

/** They write into the folder they start in. */
function copyOf(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `treadle-bench-${name}-`));
  mkdirSync(folder, { recursive: true });
  cpSync(project, folder, { recursive: true });
  return folder;
}
