import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { newId } from "../../platform/ids.ts";
import { runFrames } from "./run-stream.ts";
import type { EventFamily } from "./thread-event.ts";
import { ThreadFeed } from "./thread-feed.ts";

let testing: TestDatabase;
/** Of a process that only reads: the runs are executed by another one. */
let feed: ThreadFeed;

beforeAll(async () => {
  testing = await createTestDatabase({ poolSize: 2 });
  feed = new ThreadFeed(testing.database);
  await feed.start();
});
afterAll(async () => {
  await feed?.stop();
  await testing?.drop();
});

const threadId = newId();

async function write(runId: string, seq: number, number: number, family: EventFamily): Promise<void> {
  const name = family === "control" ? "end" : "values";
  await raw`insert into thread_events (thread_id, seq, run_id, family, name, namespace, data, number)
    values (${threadId}, ${seq}, ${runId}, ${family}, ${name}, '', ${JSON.stringify({ number })}, ${number})`.execute(
    testing.database.sql,
  );
}

test("a run that ends elsewhere between two questions is streamed to its last event, and no later run's", async () => {
  const [runId, later] = [newId(), newId()];
  await write(runId, 1, 0, "run");
  const stop = new AbortController();
  let asked = 0;
  const frames = runFrames({
    ...{ feed, threadId, runId, afterSeq: 0, signal: stop.signal, withIds: true, shares: false },
    async isOver() {
      asked += 1;
      // The page was read and had nothing new; then this happened, and the answer is right.
      await write(runId, 2, 1, "run");
      await write(runId, 3, 2, "run");
      await write(runId, 4, 4, "control");
      await write(later, 5, 0, "run");
      return true;
    },
  });
  const seen: (string | undefined)[] = [];
  for await (const batch of frames) {
    seen.push(...batch.map((frame) => ("id" in frame ? frame.id : undefined)));
    // A notice of what was read already.
    feed.touch(threadId);
  }
  expect(asked).toBe(1);
  expect(seen).toEqual(["0", "1", "2"]);
});
