import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { isRunning } from "../../../../tests/support/components/process-table.ts";
import { keepLogs } from "../../../../tests/support/logged-lines.ts";
import { PythonPool } from "./python-pool.ts";
import { PythonWorker } from "./python-worker.ts";

const peer = fileURLToPath(new URL("../../../../tests/support/frame-peer-process.ts", import.meta.url));
const never = new AbortController().signal;

let folder: string;
let interpreter: string;
const pools: PythonPool[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle-pool-"));
  interpreter = join(folder, "python");
  await writeFile(interpreter, `#!/bin/sh\nexec "${process.execPath}" --no-warnings "${peer}"\n`);
  await chmod(interpreter, 0o700);
});
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.stop();
});
afterAll(() => rm(folder, { recursive: true }));

function makePool(workers: number, load: () => object = () => ({})) {
  const { logger, text } = keepLogs();
  const place = { interpreter, main: "", directory: folder, logger, watchdogMs: 0, memoryLimitMb: null };
  const upstream = async () => undefined;
  const start = () => new PythonWorker({ ...place, upstream, load: load() as Record<string, unknown> });
  const pool = new PythonPool({ logger, workers, start, spare: false });
  pools.push(pool);
  return { pool, text };
}

/** Ends the process of a run, as the run does, and gives the run back as its execution does. */
async function dieIn(pool: PythonPool, worker: PythonWorker, ...runIds: string[]): Promise<void> {
  await worker.call("die").catch(() => undefined);
  await worker.ended;
  for (const runId of runIds) pool.release(worker, runId);
}

describe("the processes that run graphs", () => {
  it("are as many as was asked for; the least busy is given out", async () => {
    const { pool } = makePool(2);
    expect(await pool.start()).toMatchObject({ graphs: [] });
    await expect.poll(() => pool.pids.length, { timeout: 20_000 }).toBe(2);
    const first = await pool.any();
    const stream = first.open("run", {});
    const second = await pool.any();
    expect(second.pid).not.toBe(first.pid);
    second.open("run", {});
    second.open("run", {});
    expect((await pool.any()).pid).toBe(first.pid);
    stream.cancel();
    for await (const _item of stream.items()) expect.fail("nothing was to come");
    expect(first.busy).toBe(0);
  });

  it("do not start where the first cannot load the project", async () => {
    const { pool } = makePool(1, () => ({ fails: true }));
    await expect(pool.start()).rejects.toThrow(/exited with code 7/);
  });

  it("are followed by another when they end; its runs are tried one at a time, alone", async () => {
    const { pool, text } = makePool(1);
    await pool.start();
    const worker = await pool.forRun("innocent", never);
    expect(await pool.forRun("killer", never)).toBe(worker);
    const stream = worker.open("run", {});
    await dieIn(pool, worker, "innocent", "killer");
    await expect(stream.answer()).rejects.toMatchObject({ code: "graph.worker_lost" });
    expect(worker.runsWhenLost).toBe(2);
    expect(text()).toContain("another one takes its place");

    const alone = await pool.forRun("killer", never);
    expect([alone.pid === worker.pid, alone.reservedFor]).toEqual([false, "killer"]);
    let isAdmitted = false;
    const waiting = pool.forRun("innocent", never).then((found) => {
      isAdmitted = true;
      return found;
    });
    // A run that was in no such process is not put beside it: another process is started.
    const other = await pool.forRun("other", never);
    expect(other.pid).not.toBe(alone.pid);
    expect(isAdmitted).toBe(false);

    await dieIn(pool, alone, "killer");
    const innocent = await waiting;
    expect(innocent.reservedFor).toBe("innocent");
    pool.release(innocent, "innocent");
    pool.release(other, "other");
    // It proved itself: it is like any other again.
    const again = await pool.forRun("innocent", never);
    expect(again.reservedFor).toBeUndefined();
  });

  it("that have a node which cannot be stopped end when their other runs have", async () => {
    const { pool } = makePool(1);
    await pool.start();
    const worker = await pool.forRun("a", never);
    await pool.forRun("b", never);
    pool.replace(worker);
    const next = await pool.any();
    expect(next.pid).not.toBe(worker.pid);
    pool.release(worker, "a");
    expect(isRunning(worker.pid!)).toBe(true);
    pool.release(worker, "b");
    expect((await worker.ended).message).toContain("could not be stopped");
  });

  it("end with the pool, and who waits for one is told", async () => {
    const { pool } = makePool(1);
    await pool.start();
    const worker = await pool.forRun("a", never);
    worker.reservedFor = "a";
    const waiting = pool.any();
    // The reason is what it rejects with.
    waiting.catch(() => undefined);
    await pool.stop();
    await expect(waiting).rejects.toMatchObject({ code: "graph.worker_lost" });
    expect(isRunning(worker.pid!)).toBe(false);
  });
});
