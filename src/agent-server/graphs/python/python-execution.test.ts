import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { CheckpointStore } from "../../checkpoints/checkpoint-store.ts";
import type { GraphAttempt, RuntimeGround } from "../graph-runtime.ts";
import { CallStream } from "./call-stream.ts";
import { PythonExecution } from "./python-execution.ts";
import type { PythonPool } from "./python-pool.ts";
import type { PythonWorker } from "./python-worker.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A run whose node never ends and ignores every request. */
async function startEndless() {
  const happened: string[] = [];
  const stream = new CallStream(1, { send: () => undefined, room: async () => undefined });
  const worker = {
    open: () => stream,
    disown: () => undefined,
    interrupt: () => void happened.push("interrupted"),
  } as unknown as PythonWorker;
  const pool = {
    forRun: async () => worker,
    release: () => void happened.push("released"),
    replace: () => void happened.push("replaced"),
  } as unknown as PythonPool;
  const stop = new AbortController();
  const execution = await PythonExecution.start({
    ...{ pool, graphId: "endless" },
    ground: { checkpoints: {} as CheckpointStore } as RuntimeGround,
    attempt: {
      run: { run_id: "r", thread_id: "t", attempt: 1, newThread: true, metadata: {} },
      call: { config: {}, stream_mode: [] },
      ...{ tracing: {}, metadata: {}, protocol: false, signal: stop.signal },
    } as unknown as GraphAttempt,
    readState: () => Promise.reject(new Error("not asked")),
  });
  let ending: string | undefined;
  const reading = read(execution).then((text) => {
    ending = text;
  });
  await vi.advanceTimersByTimeAsync(0);
  return { happened, stop: () => stop.abort(), reading, ending: () => ending };
}

async function read(execution: PythonExecution): Promise<string> {
  try {
    for await (const _part of execution.parts()) return "a part came";
    return "ended";
  } catch (error) {
    return (error as Error).message;
  }
}

it("is over two seconds after it was stopped, whatever its node does; a node that goes on costs its process", async () => {
  const run = await startEndless();
  run.stop();
  await vi.advanceTimersByTimeAsync(499);
  expect(run.happened).not.toContain("interrupted");
  await vi.advanceTimersByTimeAsync(1);
  expect(run.happened).toContain("interrupted");
  await vi.advanceTimersByTimeAsync(1_499);
  expect(run.ending()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  await run.reading;
  expect(run.ending()).toBe("The graph did not stop when it was asked to.");
  expect(run.happened).toContain("released");
  await vi.advanceTimersByTimeAsync(4_999);
  expect(run.happened).not.toContain("replaced");
  await vi.advanceTimersByTimeAsync(1);
  expect(run.happened).toContain("replaced");
});
