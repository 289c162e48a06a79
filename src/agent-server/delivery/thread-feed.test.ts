import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { newId } from "../../platform/ids.ts";
import type { EventFamily, ThreadEvent } from "./thread-event.ts";
import { ThreadFeed } from "./thread-feed.ts";

let database: TestDatabase;
let here: ThreadFeed;
let elsewhere: ThreadFeed;

beforeAll(async () => {
  database = await createTestDatabase({ poolSize: 4 });
  here = new ThreadFeed(database.database);
  elsewhere = new ThreadFeed(database.database);
  await Promise.all([here.start(), elsewhere.start()]);
  elsewhere.setOthersListen(true);
});
afterAll(async () => {
  await Promise.all([here.stop(), elsewhere.stop()]);
  await database.drop();
});

function eventOf(threadId: string, family: EventFamily): ThreadEvent {
  return { threadId, seq: 1, number: 1, runId: newId(), family, name: "any", namespace: "", data: "{}" };
}

/** Counts how often a wait was told to look, beyond the first time. */
function countLooks(feed: ThreadFeed, threadId: string, signal: AbortSignal) {
  const state = { looks: -1, first: Promise.withResolvers<void>(), next: Promise.withResolvers<void>() };
  const done = (async () => {
    for await (const _ of feed.ends(threadId, signal)) {
      state.looks += 1;
      if (state.looks === 0) state.first.resolve();
      else state.next.resolve();
    }
  })();
  return { state, done };
}

describe("a wait for the end of a run of another process", () => {
  test("looks when a run of the thread ended, and not for other events", async () => {
    const [busy, ended] = [newId(), newId()];
    const stop = new AbortController();
    const waits = [busy, ended].map((threadId) => countLooks(here, threadId, stop.signal));
    await Promise.all(waits.map(({ state }) => state.first.promise));
    elsewhere.publish([eventOf(busy, "run"), eventOf(ended, "run")]);
    elsewhere.publish([eventOf(ended, "control")]);
    // Notices come in their order: when the second thread's is here, the first one's was.
    await waits[1]!.state.next.promise;
    expect(waits[0]!.state.looks).toBe(0);
    elsewhere.touch(busy);
    await waits[0]!.state.next.promise;
    stop.abort();
    await Promise.all(waits.map(({ done }) => done));
  });

  test("a reader is told of every event", async () => {
    const threadId = newId();
    const stop = new AbortController();
    const pages = here.read(threadId, 0, stop.signal);
    const first = pages.next();
    // It is not known when the reader begins to wait: it is told until it was.
    const telling = setInterval(() => elsewhere.publish([eventOf(threadId, "run")]), 20);
    // The log has no rows of it, so the page is empty: something happened.
    expect(await first).toEqual({ done: false, value: [] });
    clearInterval(telling);
    stop.abort();
    await pages.return(undefined);
  });

  test("what ends together is told together", async () => {
    const ids = Array.from({ length: 250 }, () => newId());
    let notices = 0;
    const seen = new Set<string>();
    const all = Promise.withResolvers<void>();
    const unlisten = await database.database.listen("treadle_thread_events", (payload) => {
      const told = payload.split(",").filter((id) => ids.includes(id));
      // A notice of what came before may still be on its way.
      if (told.length > 0) notices += 1;
      for (const id of told) seen.add(id);
      if (seen.size === ids.length) all.resolve();
    });
    for (const id of ids) elsewhere.publish([eventOf(id, "control")]);
    await all.promise;
    await unlisten();
    expect(notices).toBe(3);
  });
});

test("says when this process is no longer the only one, each time it comes to that", () => {
  const feed = new ThreadFeed(database.database);
  let came = 0;
  feed.whenOthersCome(() => {
    came += 1;
  });
  for (const others of [false, true, true, false, true]) feed.setOthersListen(others);
  expect(came).toBe(2);
});
