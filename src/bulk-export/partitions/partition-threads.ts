import { Worker } from "node:worker_threads";
import { AppError } from "../../platform/errors.ts";
import { errorOf, type FromThread, type ToThread } from "./partition-messages.ts";
import type { PartitionEvents, PartitionTask } from "./partition-task.ts";

export type PartitionThreads = {
  /** Writes a partition in a thread. On abort it ends at once: the thread is stopped if it does not stop itself. */
  write(task: PartitionTask, events: PartitionEvents, signal: AbortSignal): Promise<{ rows: number }>;
  stop(): Promise<void>;
};

const abortGraceMs = 500;

// The file beside this one, before and after the build.
const threadFile = new URL(
  `./partition-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`,
  import.meta.url,
);

/** Threads are kept for the next partition, and ended when there has been none for a while. */
export function createPartitionThreads(options: { idleMs?: number } = {}): PartitionThreads {
  const idleMs = options.idleMs ?? 30_000;
  const idle = new Map<Worker, NodeJS.Timeout>();
  const all = new Set<Worker>();
  let stopped = false;

  const take = (): Worker => {
    const [kept] = idle;
    if (kept) {
      clearTimeout(kept[1]);
      idle.delete(kept[0]);
      return kept[0];
    }
    // Without the options this process was started with: they may be a test runner's.
    const worker = new Worker(threadFile, { execArgv: [], name: "bulk export" });
    worker.unref();
    all.add(worker);
    // A partition under way fails with the error; an idle thread is only removed.
    worker.on("error", () => {});
    worker.once("exit", () => {
      all.delete(worker);
      clearTimeout(idle.get(worker));
      idle.delete(worker);
    });
    return worker;
  };
  const giveBack = (worker: Worker) => {
    if (stopped || !all.has(worker)) return void worker.terminate();
    const timer = setTimeout(() => void worker.terminate(), idleMs);
    timer.unref();
    idle.set(worker, timer);
  };

  return {
    async write(task, events, signal) {
      signal.throwIfAborted();
      const worker = take();
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
      // An abort of ours also ends in "failed"; whichever reason came first stands.
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
          giveBack(worker);
        } else await worker.terminate();
      }
    },
    async stop() {
      stopped = true;
      await Promise.all([...all].map((worker) => worker.terminate()));
    },
  };
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
