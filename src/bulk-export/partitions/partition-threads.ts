import { Worker } from "node:worker_threads";
import { AppError } from "../../platform/errors.ts";
import { errorOf, type FromThread, type ToThread } from "./partition-messages.ts";
import type { PartitionEvents, PartitionTask } from "./partition-task.ts";

const abortGraceMs = 500;

// The file beside this one, before and after the build.
const threadFile = new URL(
  `./partition-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`,
  import.meta.url,
);

/** Threads are kept for the next partition, and ended when there has been none for a while. */
export class PartitionThreads {
  readonly #idleMs: number;
  readonly #idle = new Map<Worker, NodeJS.Timeout>();
  readonly #all = new Set<Worker>();
  #stopped = false;

  constructor({ idleMs = 30_000 }: { idleMs?: number } = {}) {
    this.#idleMs = idleMs;
  }

  /** Writes a partition in a thread. On abort it ends at once: the thread is stopped if it does not stop itself. */
  async write(task: PartitionTask, events: PartitionEvents, signal: AbortSignal): Promise<{ rows: number }> {
    signal.throwIfAborted();
    const worker = this.#take();
    const post = (message: ToThread) => worker.postMessage(message);
    const outcome = Promise.withResolvers<{ rows: number }>();
    // It is waited for at the end; until then a failure must not count as unhandled.
    outcome.promise.catch(() => {});
    const keep = (work: Promise<void>) => {
      work.then(
        () => post({ type: "kept" }),
        (error: unknown) => {
          outcome.reject(error);
          post({ type: "abort" });
        },
      );
    };
    // Our own abort also ends in "failed"; the first reason is kept.
    const settled = Promise.withResolvers<void>();
    const onMessage = (message: FromThread) => {
      if (message.type === "intent") keep(events.intent(message.file));
      else if (message.type === "written") keep(events.written(message.file));
      else {
        if (message.type === "done") outcome.resolve({ rows: message.rows });
        else outcome.reject(errorOf(message.error));
        settled.resolve();
      }
    };
    const onDeath = (error?: unknown) => {
      outcome.reject(threadLost(error));
      settled.resolve();
    };
    const onExit = () => onDeath();
    const onAbort = () => {
      outcome.reject(signal.reason);
      post({ type: "abort" });
      setTimeout(() => settled.resolve(), abortGraceMs).unref();
    };
    worker.on("message", onMessage);
    worker.once("error", onDeath);
    worker.once("exit", onExit);
    signal.addEventListener("abort", onAbort, { once: true });
    worker.ref();
    try {
      post({ type: "start", task });
      return await outcome.promise;
    } finally {
      const clean = await Promise.race([
        settled.promise.then(() => !signal.aborted),
        new Promise<boolean>((resolve) => setTimeout(resolve, abortGraceMs * 2, false).unref()),
      ]);
      signal.removeEventListener("abort", onAbort);
      worker.off("message", onMessage);
      worker.off("exit", onExit);
      worker.unref();
      // One that was interrupted may still be busy with the old partition.
      if (clean) {
        worker.off("error", onDeath);
        this.#giveBack(worker);
      } else await worker.terminate();
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  #take(): Worker {
    const [kept] = this.#idle;
    if (kept) {
      clearTimeout(kept[1]);
      this.#idle.delete(kept[0]);
      return kept[0];
    }
    // Without the options this process was started with: they may be a test runner's.
    const worker = new Worker(threadFile, { execArgv: [], name: "bulk export" });
    worker.unref();
    this.#all.add(worker);
    // A partition in progress fails with the error; an idle thread is only removed.
    worker.on("error", () => {});
    worker.once("exit", () => {
      this.#all.delete(worker);
      clearTimeout(this.#idle.get(worker));
      this.#idle.delete(worker);
    });
    return worker;
  }

  #giveBack(worker: Worker): void {
    if (this.#stopped || !this.#all.has(worker)) return void worker.terminate();
    const timer = setTimeout(() => void worker.terminate(), this.#idleMs);
    timer.unref();
    this.#idle.set(worker, timer);
  }
}

function threadLost(cause: unknown): AppError {
  return new AppError({
    code: "bulk_export.thread_lost",
    kind: "internal",
    retryable: true,
    message: "The thread that wrote the files ended unexpectedly.",
    cause,
  });
}
