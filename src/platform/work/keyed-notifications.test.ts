import { setImmediate as afterOthers } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { KeyedNotifications } from "./keyed-notifications.ts";

const channel = "keyed_notifications_test";
/** Longer than any test: a wait that nothing ends fails the test. */
const longMs = 600_000;

let subject: TestDatabase;
let notifications: KeyedNotifications;
beforeAll(async () => {
  subject = await createTestDatabase();
});
afterAll(() => subject.drop());
beforeEach(async () => {
  notifications = new KeyedNotifications(subject.database, channel);
  await notifications.start();
});
afterEach(() => notifications.stop());

test("what is announced between listening and waiting ends the wait", async () => {
  const [early, witness] = [notifications.listen("a"), notifications.listen("a")];
  await subject.database.notify(channel, "a");
  await witness.until(longMs);
  await early.until(longMs);
  early.end();
  witness.end();
});

test("another key's announcement does not", async () => {
  const [mine, theirs] = [notifications.listen("a"), notifications.listen("b")];
  const called = new AbortController();
  let ended = false;
  const waiting = mine.until(longMs, called.signal).then(() => {
    ended = true;
  });
  await subject.database.notify(channel, "b");
  await theirs.until(longMs);
  await afterOthers();
  expect(ended).toBe(false);
  called.abort();
  await waiting;
  mine.end();
  theirs.end();
});

test("a signal ends the wait, also one that was aborted before", async () => {
  const change = notifications.listen("a");
  await change.until(longMs, AbortSignal.abort());
  const later = new AbortController();
  const waiting = change.until(longMs, later.signal);
  later.abort();
  await waiting;
  change.end();
});

test("a stop ends all waits", async () => {
  const waits = ["a", "b"].map((key) => notifications.listen(key).until(longMs));
  await notifications.stop();
  await Promise.all(waits);
});
