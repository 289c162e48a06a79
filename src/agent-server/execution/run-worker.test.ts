import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { newId } from "../../platform/ids.ts";
import { createLogger } from "../../platform/logger.ts";
import { ThreadFeed } from "../delivery/thread-feed.ts";
import type { ClaimedRun } from "../runs/run.ts";
import type { RunExecutor } from "./run-executor.ts";
import { RunWorker } from "./run-worker.ts";

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

it("executes a run once that is begun again by a repeated claim", async () => {
  let executed = 0;
  const gone = Promise.withResolvers<never>();
  const executor = {
    execute: () => {
      executed += 1;
      return gone.promise;
    },
  } as unknown as RunExecutor;
  const feed = new ThreadFeed(test.database);
  const worker = new RunWorker({
    ...{ database: test.database, executor, feed, logger: createLogger({ level: "silent" }) },
    ...{ processId: newId(), takers: () => [], graphIds: [], concurrency: 2 },
    ...{ leaseMs: 30_000, runTimeoutMs: 60_000, onExhausted: () => undefined },
    beforeEnd: async () => undefined,
    onEnd: async () => undefined,
    onRollback: async () => undefined,
  });
  const run = { run_id: newId(), thread_id: newId(), attempt: 1, last_seq: 4, begun: true } as ClaimedRun;
  const claimed = { ...run, leaseUntil: performance.now() + 30_000 };
  const reading = feed.read(run.thread_id, 4, AbortSignal.timeout(60_000));
  const done = worker.begin(claimed);
  expect(worker.begin(claimed)).toBe(done);
  const { value: events } = await reading.next();
  expect(events).toMatchObject([{ seq: 5, number: 0, name: "metadata", runId: run.run_id }]);
  await reading.return(undefined);
  expect(executed).toBe(1);
  gone.reject(new Error("over"));
  expect(await done).toBeNull();
});
