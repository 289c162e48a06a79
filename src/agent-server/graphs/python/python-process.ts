import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex, Readable } from "node:stream";
import { AppError } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";
import { within } from "../../../platform/within.ts";
import type { MemoryKills } from "./memory-kills.ts";
import { OutputLines } from "./output-lines.ts";
import { type CallHandlers, PythonChannel } from "./python-channel.ts";
import { PythonControl } from "./python-control.ts";

export type PythonProcessOptions = {
  interpreter: string;
  /** What Python starts with. */
  main: string;
  /** Where it works: the project's folder. */
  directory: string;
  /** Default: this process's. */
  environment?: Readonly<Record<string, string | undefined>>;
  handlers: CallHandlers;
  logger: Logger;
  /** Of all processes of this server together; null: none that is known. */
  memoryLimitMb?: number | null;
  memoryKills?: MemoryKills;
  /** A call that was opened is over. */
  onCallEnd?(call: number): void;
  /** The process is gone; called before the open calls fail. */
  onLost?(): void;
};

const linesKept = 20;
/** How long a process that ended is waited for, so that its last words are there. */
const lastWordsMs = 100;
const closedMs = 500;

/** A Python process, and the two sockets to it. It exits when they are closed, also when this process is killed. */
export class PythonProcess {
  readonly channel: PythonChannel;
  readonly control: PythonControl;
  /** Resolves with the reason when it is gone. */
  readonly ended: Promise<AppError>;
  readonly #child: ChildProcess;
  readonly #options: PythonProcessOptions;
  readonly #lastLines: string[] = [];
  #whyKilled: string | undefined;

  constructor(options: PythonProcessOptions) {
    this.#options = options;
    const { interpreter, main, directory: cwd, handlers, environment: env } = options;
    options.memoryKills?.begin();
    // A group of its own: Ctrl-C is for the server, which lets runs finish first.
    this.#child = spawn(interpreter, ["-u", main], {
      cwd,
      stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
      detached: true,
      ...(env ? { env: { ...env } } : {}),
    });
    const [, out, err, data, control] = this.#child.stdio as [null, Readable, Readable, Duplex, Duplex];
    this.#log(out, "info");
    this.#log(err, "warn");
    this.channel = new PythonChannel({
      socket: data,
      handlers,
      onProtocolError: (error) => this.kill(error.message),
      onEnd: (call) => options.onCallEnd?.(call),
    });
    this.control = new PythonControl(control, (problem) => this.kill(problem));
    for (const socket of [data, control]) {
      // Usually the cause is its exit, which says more.
      socket.on("end", () => {
        setTimeout(() => this.kill("It closed its connection to the server."), closedMs).unref();
      });
      // An exit breaks the socket like this; the exit itself says why.
      socket.on("error", () => undefined);
    }
    this.ended = this.#end();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Kills it at once, with the processes it started. */
  kill(why: string): void {
    this.#whyKilled ??= why;
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has no group yet in its first moment.
      this.#child.kill("SIGKILL");
    }
  }

  async #end(): Promise<AppError> {
    const how = await new Promise<string>((resolve) => {
      this.#child.on("error", (error) => resolve(`It could not be started: ${error.message}`));
      this.#child.on("exit", (code, signal) => {
        if (signal === "SIGKILL") resolve(this.#whyKilled ?? this.#describeKill());
        else resolve(signal ? describeSignal(signal) : `It exited with code ${code}.`);
      });
    });
    const closed = new Promise<void>((resolve) => this.#child.on("close", () => resolve()));
    if (this.#child.pid !== undefined) await within(lastWordsMs, closed);
    const words = this.#lastLines.length === 0 ? "" : ` Its last lines:\n${this.#lastLines.join("\n")}`;
    const error = new AppError({
      code: "graph.worker_lost",
      kind: "unavailable",
      message: `The Python process ${this.pid ?? ""} ended. ${how}${words}`,
    });
    this.#options.onLost?.();
    this.channel.close(error);
    return error;
  }

  /** Of a kill that was not ours. */
  #describeKill(): string {
    const { memoryKills, memoryLimitMb: limit = null } = this.#options;
    const forMemory = memoryKills?.explainsKill() ?? null;
    if (forMemory === false)
      return "It was killed (SIGKILL) by a person or another program: the kernel counts no kill for want of memory here.";
    const by = forMemory ? "by the kernel (SIGKILL), because" : "(SIGKILL),";
    if (limit === null)
      return `It was killed ${by} ${forMemory ? "the machine or the container" : "perhaps because the machine"} was out of memory.`;
    return `It was killed ${by} ${forMemory ? "" : "most likely because "}the deployment was out of memory: its limit is ${limit} MB. Give the deployment more with resource_spec.memory_limit_mb, or let it hold less.`;
  }

  #log(stream: Readable, level: "info" | "warn"): void {
    const lines = new OutputLines((line) => {
      this.#options.logger[level]({ source: "project", pid: this.pid }, line);
      if (level !== "warn") return;
      this.#lastLines.push(line);
      if (this.#lastLines.length > linesKept) this.#lastLines.shift();
    });
    stream.on("data", (chunk: Buffer) => lines.push(chunk));
    stream.on("end", () => lines.end());
    stream.on("error", () => undefined);
  }
}

function describeSignal(signal: NodeJS.Signals): string {
  return signal === "SIGSEGV"
    ? "It crashed (SIGSEGV), in native code of a package."
    : `It was ended by ${signal}.`;
}
