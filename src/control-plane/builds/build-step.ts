import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { AppError } from "../../platform/errors.ts";
import { type Launch, startEnclosed } from "../sandbox/enclosed-process.ts";
import { identify, signalGroup } from "../sandbox/process-table.ts";

export type StepOptions = {
  command: string;
  args: string[];
  cwd: string;
  env: Record<string, string>;
  /** Where the running process is noted, so that a later start of the platform can end it. */
  workFolder: string;
  timeoutMs: number;
  signal: AbortSignal;
  onLine(line: string): void;
  input?: string;
  /** A user other than the platform's own. */
  user?: { uid: number; gid: number } | undefined;
  /** The same command behind walls; `user`, `cwd` and `env` are in it. */
  launch?: Launch | undefined;
  /** Ends what the command left running outside of its process group. */
  endLeft?: (() => Promise<void>) | undefined;
};

/** The note about the running step of a build. */
export const stepFile = "running-step.json";

/** How long to wait for the output of a command that has ended; a process we cannot reach may hold its pipe open. */
const outputMs = 2_000;

/** Runs one command in a process group of its own, to its end; every way out leaves no process behind. */
export async function runStep(options: StepOptions): Promise<string[]> {
  options.signal.throwIfAborted();
  const { child, begin } = startEnclosed(options.launch ?? plain(options), ["pipe", "pipe", "pipe"]);
  const { pid } = child;
  const [stdin, stdout, stderr] = [child.stdin!, child.stdout!, child.stderr!];
  begin();
  const lines: string[] = [];
  for (const stream of [stdout, stderr]) {
    createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on("line", (line) => {
      lines.push(line);
      if (lines.length > 5_000) lines.shift();
      options.onLine(line);
    });
  }
  // A command may end without reading its input; its exit code decides.
  stdin.on("error", () => undefined);
  stdin.end(options.input);
  let ended: "timeout" | "aborted" | undefined;
  const end = (why: "timeout" | "aborted") => {
    ended ??= why;
    if (pid !== undefined) signalGroup(pid, "SIGKILL");
  };
  const onAbort = () => end("aborted");
  options.signal.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(() => end("timeout"), options.timeoutMs);
  const note = join(options.workFolder, stepFile);
  try {
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const exit = new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
      child.once("error", (error) => reject(notStarted(options.command, error)));
      child.once("exit", (code, signal) => resolve({ code, signal }));
    });
    // A rejection must not be lost while the note is being written.
    exit.catch(() => undefined);
    const identity = pid === undefined ? null : await identify(pid);
    if (identity) await writeFile(note, JSON.stringify(identity));
    const { code, signal } = await exit;
    // Processes that the command left in the background must end, and so must their output.
    if (pid !== undefined) signalGroup(pid, "SIGKILL");
    await options.endLeft?.();
    await outputEnded(closed, () => {
      stdout.destroy();
      stderr.destroy();
    });
    if (ended === "aborted") options.signal.throwIfAborted();
    if (ended === "timeout") throw tooSlow(options);
    if (code !== 0) throw new StepFailed(options.command, signal ?? `exit code ${code}`, lines);
    return lines;
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", onAbort);
    await rm(note, { force: true });
  }
}

function plain({ command, args, cwd, env, user = undefined }: StepOptions): Launch {
  return { program: command, args, cwd, env, user: user ?? null, inputs: [], sandboxed: false };
}

async function outputEnded(closed: Promise<void>, giveUp: () => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      giveUp();
      resolve();
    }, outputMs);
  });
  await Promise.race([closed, late]);
  clearTimeout(timer);
}

export class StepFailed extends Error {
  readonly ending: string;
  readonly lines: string[];

  constructor(command: string, ending: string, lines: string[]) {
    super(`${command} failed (${ending})`);
    this.ending = ending;
    this.lines = lines;
  }

  tail(count = 15): string {
    return this.lines.slice(-count).join("\n");
  }
}

export function notStarted(command: string, cause: NodeJS.ErrnoException): AppError {
  return new AppError({
    code: "build.command_missing",
    kind: "invalid",
    message:
      cause.code === "ENOENT"
        ? `The command ${command} is not installed on this machine. Install it, or choose another with install_command or build_command.`
        : `The command ${command} could not be started (${cause.code ?? cause.message}).`,
    cause,
  });
}

function tooSlow({ command, timeoutMs }: StepOptions): AppError {
  return new AppError({
    code: "build.timeout",
    kind: "invalid",
    message: `${command} did not finish within the build timeout of ${Math.round(timeoutMs / 1000)} s. Make it faster, or raise TREADLE_BUILD_TIMEOUT_SECONDS.`,
  });
}
