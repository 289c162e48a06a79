import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { descendantsOf, isRunning, killAll, sendSignal } from "./process-table.ts";
import { waitUntil } from "./wait-until.ts";

const KEPT_LINES = 2_000;
const SHOWN_LINES = 30;

export interface SpawnOptions {
  /** Shown in errors; the command's name unless given. */
  name?: string;
  cwd?: string;
  /** Added to the environment of this process. */
  env?: Record<string, string>;
  /** Runs the command as another user; only root may. */
  user?: { uid: number; gid: number };
  input?: string | Uint8Array;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface ChildProcess {
  pid: number;
  /** The last lines of stdout and stderr together, as they arrived. */
  output(): string;
  exit(): Exit | undefined;
  /** Resolves with the first line, past or future, that matches; rejects when the process ends before. */
  waitForLine(pattern: RegExp | string, timeoutMs?: number): Promise<string>;
  waitExit(timeoutMs?: number): Promise<Exit>;
  signal(signal: NodeJS.Signals): void;
  /** SIGKILL for the process and everything it started; returns when all are gone. */
  kill(): Promise<Exit>;
  /** Asks with `signal`, and kills what is left after `timeoutMs`. */
  stop(signal?: NodeJS.Signals, timeoutMs?: number): Promise<Exit>;
}

/** setpriv changes the user, and its parent-death signal ends the child even if this process is killed. */
function commandLine(command: string, args: string[], options: SpawnOptions): [string, string[]] {
  const flags = ["--pdeathsig=KILL"];
  if (options.user) {
    flags.push(`--reuid=${options.user.uid}`, `--regid=${options.user.gid}`, "--clear-groups");
  }
  return ["setpriv", [...flags, "--", command, ...args]];
}

export function spawnProcess(command: string, args: string[], options: SpawnOptions = {}): ChildProcess {
  const name = options.name ?? command;
  const [executable, allArgs] = commandLine(command, args, options);
  const child = spawn(executable, allArgs, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const pid = child.pid;
  let exit: Exit | undefined;
  const lines: string[] = [];
  const lineListeners = new Set<(line: string) => void>();

  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on("line", (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      for (const listener of lineListeners) listener(line);
    });
  }
  // A child may exit without reading its input; its exit code is the reason, not our broken pipe.
  child.stdin.on("error", () => {});
  child.stdin.end(options.input);

  const tail = () => lines.slice(-SHOWN_LINES).join("\n");
  const described = () => `${name}${pid ? ` (pid ${pid})` : ""}; last output:\n${tail() || "(none)"}`;
  const closed = new Promise<Exit>((resolve) => {
    child.once("exit", (code, signal) => {
      exit = { code, signal };
    });
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  if (pid === undefined) {
    child.once("error", () => {}); // it arrives later and adds nothing to this
    throw new Error(`Could not start ${name}: the command "${executable}" (package util-linux) is missing.`);
  }

  const self: ChildProcess = {
    pid,
    output: () => lines.join("\n"),
    exit: () => exit,
    waitForLine(pattern, timeoutMs = 30_000) {
      const matches = (line: string) =>
        typeof pattern === "string" ? line.includes(pattern) : line.search(pattern) >= 0;
      const seen = lines.find(matches);
      if (seen !== undefined) return Promise.resolve(seen);
      return new Promise((resolve, reject) => {
        const finish = (settle: () => void) => {
          clearTimeout(timer);
          lineListeners.delete(listener);
          settle();
        };
        const listener = (line: string) => {
          if (matches(line)) finish(() => resolve(line));
        };
        const timer = setTimeout(() => {
          const message = `Timed out after ${timeoutMs} ms waiting for a line with ${pattern} from ${described()}`;
          finish(() => reject(new Error(message)));
        }, timeoutMs);
        lineListeners.add(listener);
        closed.then(({ code, signal }) => {
          const ending = signal ?? `code ${code}`;
          finish(() => reject(new Error(`Ended (${ending}) before a line with ${pattern}: ${described()}`)));
        });
      });
    },
    async waitExit(timeoutMs = 30_000) {
      return await waitUntil(() => exit, { what: `the end of ${name}`, timeoutMs, evidence: described });
    },
    signal(signal) {
      if (!exit) sendSignal(pid, signal);
    },
    async kill() {
      // Stopped first so that it starts nothing between the listing of its children and the kill.
      if (!exit) sendSignal(pid, "SIGSTOP");
      await killAll([...(exit ? [] : [pid]), ...descendantsOf(pid)]);
      return await self.waitExit(10_000);
    },
    async stop(signal = "SIGTERM", timeoutMs = 15_000) {
      const started = descendantsOf(pid);
      self.signal(signal);
      try {
        return await self.waitExit(timeoutMs);
      } catch {
        return await self.kill();
      } finally {
        await killAll(started.filter(isRunning));
      }
    },
  };
  return self;
}
