import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const everyMs = 50;
const page = Buffer.alloc(8_192, 1);

/**
 * How long the disk let the slowest of many small synchronous writes wait while `work` was measured. What is durable
 * waits as long: an outlier of about this length is the disk's.
 */
export async function besideSyncs(work: () => Promise<void>): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-sync-"));
  const file = await open(join(folder, "page"), "w");
  const over = new AbortController();
  const watching = watch(file, over.signal);
  try {
    await work();
    over.abort();
    return await watching;
  } finally {
    over.abort();
    await watching;
    await file.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function watch(file: Awaited<ReturnType<typeof open>>, over: AbortSignal): Promise<number> {
  let slowestMs = 0;
  while (!over.aborted) {
    const start = performance.now();
    await file.write(page, 0, page.length, 0);
    await file.datasync();
    slowestMs = Math.max(slowestMs, performance.now() - start);
    await delay(everyMs);
  }
  return slowestMs;
}
