import { type ChildProcess, spawn } from "node:child_process";
import { chmod } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { createTempFolder, type TempFolder } from "./components/temp-folder.ts";

export const treadleBin = fileURLToPath(new URL("../../bin/treadle.js", import.meta.url));

export type TreadleOptions = {
  /** Settings; nothing of this process's own settings reaches the command. */
  env?: Record<string, string>;
  cwd?: string;
  /** Runs it as another user; only root may. */
  user?: { uid: number; gid: number };
  /** Options for Node itself. */
  nodeArgs?: string[];
  /** Another copy of the command, for instance an installed one. */
  bin?: string;
  /** Another command that serves. */
  command?: "listener";
  /** In a process group of its own, as a shell starts it: the negative `pid` signals all of the group. */
  ownGroup?: boolean;
  /** As `npm start` does it: `pid` and signals are then npm's. */
  throughNpm?: boolean;
};

export type TreadleExit = {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
};

export type ReadyLine = {
  url: string;
  port: number;
  workspace_id: string;
  api_key: string | null;
  data_dir: string;
  database: "embedded" | "external";
  notes: string[];
  worker_processes: number;
  pid: number;
};

export type RunningTreadle = {
  pid: number;
  ready: ReadyLine;
  stderr(): string;
  signal(signal: NodeJS.Signals): void;
  exited: Promise<TreadleExit>;
  /** SIGTERM, and the exit. */
  stop(): Promise<TreadleExit>;
};

/** A folder that the unprivileged user of the embedded Postgres can pass, as the data folder's parent. */
export async function createDataParent(name: string): Promise<TempFolder> {
  const folder = await createTempFolder(name);
  await chmod(folder.path, 0o711);
  return folder;
}

/** Runs the real command to its end. */
export function runTreadle(args: string[], options: TreadleOptions = {}): Promise<TreadleExit> {
  return launch(args, options).exited;
}

/** The same, while it can still be ended. */
export function beginTreadle(
  args: string[],
  options: TreadleOptions = {},
): Pick<RunningTreadle, "signal" | "exited"> {
  const { child, exited } = launch(args, options);
  return { signal: (name) => void child.kill(name), exited };
}

/** `treadle up --json` on a free port, once it has reported that it is ready. */
export async function startTreadle(args: string[], options: TreadleOptions = {}): Promise<RunningTreadle> {
  const launched = launch([options.command ?? "up", "--json", "--port", "0", ...args], options);
  const { child, exited } = launched;
  const ready = new Promise<ReadyLine>((resolve, reject) => {
    child.stdout?.on("data", () => {
      const end = launched.stdout().indexOf("\n");
      if (end >= 0) resolve(JSON.parse(launched.stdout().slice(0, end)) as ReadyLine);
    });
    exited.then(
      (exit) => reject(new Error(`treadle up ended with ${exit.code ?? exit.signal}:\n${exit.stderr}`)),
      reject,
    );
  });
  const signal = (name: NodeJS.Signals) => {
    child.kill(name);
  };
  return {
    pid: child.pid ?? 0,
    ready: await ready,
    stderr: launched.stderr,
    signal,
    exited,
    stop: () => {
      signal("SIGTERM");
      return exited;
    },
  };
}

type Launched = { child: ChildProcess; exited: Promise<TreadleExit>; stdout(): string; stderr(): string };

function launch(args: string[], options: TreadleOptions): Launched {
  const { PATH = "", HOME = "/" } = process.env;
  const [program, ...words] = options.throughNpm
    ? ["npm", "start", "--silent", "--", ...args.slice(1)]
    : [process.execPath, ...(options.nodeArgs ?? []), options.bin ?? treadleBin, ...args];
  const child = spawn(program!, words, {
    cwd: options.throughNpm ? dirname(dirname(treadleBin)) : options.cwd,
    env: { PATH, HOME, TREADLE_LOG_LEVEL: "warn", TREADLE_WORKERS: "0", ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: options.ownGroup === true,
    ...options.user,
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const exited = new Promise<TreadleExit>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      // Not "close": a Postgres that outlives a killed server may hold the pipes open.
      setImmediate(() => resolve({ code, signal, stdout, stderr }));
    });
  });
  return { child, exited, stdout: () => stdout, stderr: () => stderr };
}
