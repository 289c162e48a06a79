import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isPortTaken, startFailure } from "./postgres-failure.ts";
import type { PostgresPlace } from "./postgres-folder.ts";
import { postgresEnvironment } from "./postgres-init.ts";
import type { PostgresLog } from "./postgres-log.ts";
import { drawPort, keepPort, readKeptPort } from "./postgres-port.ts";

export type PostmasterExit = { code: number | null; signal: NodeJS.Signals | null };

/** One running server process. */
export type Postmaster = {
  pid: number;
  port: number;
  exited: Promise<PostmasterExit>;
  stop(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
};

export type PostmasterOptions = { place: PostgresPlace; log: PostgresLog; settings: Record<string, string> };

const defaultSettings: Record<string, string> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "300",
  shared_buffers: "128MB",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  lc_messages: "C",
  logging_collector: "off",
  // Statements and key values are users' data: they stay out of the log.
  log_min_error_statement: "panic",
  log_error_verbosity: "terse",
};
const portAttempts = 5;

/** Starts on the port of the last start, or on a free one where others have taken that meanwhile. */
export async function startOnKeptPort(options: PostmasterOptions): Promise<Postmaster> {
  const { portFile } = options.place;
  const kept = await readKeptPort(portFile);
  for (let attempt = 1; ; attempt++) {
    const offset = options.log.size();
    try {
      const port = attempt === 1 && kept !== undefined ? kept : await drawPort();
      // First: if the port of a running server were not recorded, its clients could not find it.
      if (port !== kept) await keepPort(portFile, port);
      return await startPostmaster(options, port);
    } catch (error) {
      // A port is also taken by someone else between choosing and binding at times.
      if (attempt === portAttempts || !isPortTaken(options.log.textSince(offset))) throw error;
    }
  }
}

/** Resolves when the server accepts connections, recovery included. */
export async function startPostmaster(options: PostmasterOptions, port: number): Promise<Postmaster> {
  const { place, log } = options;
  const offset = log.size();
  const settings = { ...defaultSettings, ...options.settings, port: String(port) };
  const child = spawn(
    join(place.native, "bin", "postgres"),
    [
      "-D",
      place.dataFolder,
      ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ],
    {
      cwd: place.home,
      env: postgresEnvironment,
      stdio: ["ignore", log.descriptor, log.descriptor],
      // Its own session: Ctrl-C in the terminal reaches Treadle alone, which stops things in order.
      detached: true,
      ...(place.user === undefined ? {} : { uid: place.user.uid, gid: place.user.gid }),
    },
  );
  const exited = new Promise<PostmasterExit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", () => resolve({ code: null, signal: null }));
  });
  let spawnError: unknown;
  child.once("error", (error) => {
    spawnError = error;
  });
  const ended = exited.then(() => "ended" as const);
  while (!(await isReady(place.dataFolder, child.pid))) {
    if ((await Promise.race([ended, delay(5)])) !== "ended") continue;
    const output = spawnError === undefined ? log.textSince(offset) : String(spawnError);
    throw startFailure({ place, output, doing: "started", cause: spawnError });
  }
  const signal = (name: NodeJS.Signals) => {
    child.kill(name);
  };
  return { pid: child.pid ?? 0, port, exited, stop: () => stopChild(child, exited), signal };
}

/** The last line of the pid file is the server's state, if the file is of this very process. */
async function isReady(dataFolder: string, pid: number | undefined): Promise<boolean> {
  const text = await readFile(join(dataFolder, "postmaster.pid"), "utf8").catch(() => "");
  const lines = text.split("\n");
  return pid !== undefined && Number(lines[0]) === pid && lines[7]?.trim() === "ready";
}

async function stopChild(child: ChildProcess, exited: Promise<PostmasterExit>): Promise<void> {
  // Fast, immediate, kill: each is only needed when the one before does not help.
  for (const [signal, waitMs] of [
    ["SIGINT", 30_000],
    ["SIGQUIT", 5_000],
    ["SIGKILL", 5_000],
  ] as const) {
    child.kill(signal);
    const waiting = new AbortController();
    const timedOut = delay(waitMs, "late" as const, { signal: waiting.signal }).catch(() => "late" as const);
    const outcome = await Promise.race([exited, timedOut]);
    waiting.abort();
    if (outcome !== "late") return;
  }
}
