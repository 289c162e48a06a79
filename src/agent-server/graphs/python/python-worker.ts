import type { Logger } from "../../../platform/logger.ts";
import { within } from "../../../platform/within.ts";
import { type CallGround, CallGrounds } from "./call-ground.ts";
import type { CallStream, Incoming, Meta } from "./call-stream.ts";
import type { Segment } from "./frame.ts";
import type { LoadReport } from "./load-report.ts";
import type { MemoryKills } from "./memory-kills.ts";
import type { CallHandlers } from "./python-channel.ts";
import { PythonProcess } from "./python-process.ts";
import { SaverProxy } from "./saver-proxy.ts";
import { StoreProxy } from "./store-proxy.ts";
import { WorkerWatchdog } from "./worker-watchdog.ts";

export type PythonWorkerOptions = {
  interpreter: string;
  main: string;
  directory: string;
  logger: Logger;
  /** What it is to load. */
  load: Meta;
  /** How it reaches the server itself. */
  upstream: CallHandlers["streaming"][string];
  /** How long it may be blocked; 0: for ever. */
  watchdogMs: number;
  memoryLimitMb: number | null;
  environment?: Readonly<Record<string, string | undefined>>;
  memoryKills?: MemoryKills;
};

const logLevels = ["debug", "info", "warn", "error"] as const;
type LogLevel = (typeof logLevels)[number];

/** A Python process that has the project loaded, and what it asks of the server. */
export class PythonWorker {
  readonly #process: PythonProcess;
  readonly #load: Meta;
  readonly #grounds = new CallGrounds();
  readonly #watchdog: WorkerWatchdog;
  /** Runs that are active in it. */
  readonly runs = new Set<string>();
  #runsWhenLost: number | undefined;
  /** The only run it may have. */
  reservedFor: string | undefined;
  /** It takes no more calls. */
  isRetired = false;

  /** Starts a process, which is to `load` before it serves. */
  constructor(options: PythonWorkerOptions) {
    const { logger, watchdogMs } = options;
    this.#load = options.load;
    const saver = new SaverProxy(this.#grounds).handlers;
    const store = new StoreProxy(this.#grounds).handlers;
    this.#process = new PythonProcess({
      ...options,
      handlers: {
        unary: { ...saver.unary, ...store.unary },
        streaming: { ...saver.streaming, upstream: options.upstream },
        noted: { log: ({ meta }) => note(logger, meta) },
      },
      onCallEnd: (call) => this.#grounds.remove(call),
      onLost: () => {
        this.#runsWhenLost = this.runs.size;
      },
    });
    this.#watchdog = new WorkerWatchdog({ process: this.#process, logger, limitMs: watchdogMs });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Rejects when the process ends before it has loaded the project. */
  async load(): Promise<LoadReport> {
    return (await this.#process.channel.call("load", this.#load)).meta as LoadReport;
  }

  /** Has it import what every project needs, while others go first. */
  async warm(): Promise<void> {
    const { directory, dependencies } = this.#load;
    await this.#process.channel.call("warm", { directory, dependencies });
  }

  /** Open calls. */
  get busy(): number {
    return this.#process.channel.underWay;
  }

  /** How many runs were active when it ended; undefined while it lives. */
  get runsWhenLost(): number | undefined {
    return this.#runsWhenLost;
  }

  /** Resolves with the reason when it is gone. */
  get ended(): Promise<Error> {
    return this.#process.ended;
  }

  /** A call on whose behalf Python may ask for nothing. */
  call(method: string, meta: Meta = {}, segments: readonly Segment[] = []): Promise<Incoming> {
    const answer = this.#process.channel.call(method, meta, segments);
    this.#watchdog.watch();
    return answer;
  }

  /** A call that carries many messages, or on whose behalf Python reads and writes. */
  open(method: string, meta: Meta, segments: readonly Segment[] = [], ground?: CallGround): CallStream {
    const stream = this.#process.channel.open(method, meta, segments);
    if (ground && !stream.isFinished) this.#grounds.add(stream.call, ground);
    this.#watchdog.watch();
    return stream;
  }

  /** Raises in the thread of a synchronous node. */
  interrupt({ call }: CallStream): void {
    this.#process.control.interrupt(call);
  }

  /** What is done from now on for a call that was given up is refused. */
  disown({ call }: CallStream): void {
    this.#grounds.remove(call);
  }

  kill(why: string): void {
    this.#process.kill(why);
  }

  /** Ends it although not all of it would, after what was traced in it has been sent. */
  async killSettled(why: string, limitMs: number): Promise<void> {
    await within(limitMs, this.#process.channel.call("traces.sent"));
    this.kill(why);
  }

  /** Lets it end in order, for that long. */
  async drain(limitMs: number): Promise<void> {
    this.isRetired = true;
    // The process ends either way, and that is what the caller waits for: a failed answer changes nothing.
    const drained = this.#process.channel.call("drain").catch(() => undefined);
    await within(limitMs, Promise.all([drained, this.ended]));
    this.kill("It did not end when it was asked to.");
    await this.ended;
  }
}

function note(logger: Logger, { level, message, runId, logger: name }: Meta): void {
  const known = logLevels.find((each) => each === String(level).toLowerCase()) ?? levelOf(String(level));
  logger[known]({ source: "project", logger: name, ...(runId ? { runId } : {}) }, String(message));
}

/** Python's own names. */
function levelOf(level: string): LogLevel {
  const name = level.toUpperCase();
  if (name === "WARNING") return "warn";
  return name === "CRITICAL" || name === "FATAL" ? "error" : "info";
}
