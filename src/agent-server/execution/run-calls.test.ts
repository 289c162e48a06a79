import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { runsChannel } from "../runs/run.ts";
import { RunCalls } from "./run-calls.ts";

const takers = ["first", "second"];
let database: TestDatabase;
let calls: RunCalls[];
let heard: string[];

beforeAll(async () => {
  database = await createTestDatabase({ poolSize: 4 });
  calls = takers.map(
    (processId) =>
      new RunCalls({
        database: database.database,
        processId,
        takers: () => takers,
        onWork: (late) => void heard.push(`${processId}${late ? ", late" : ""}`),
        onCancel: (runId, action) => void heard.push(`${processId} ${action} ${runId}`),
      }),
  );
  for (const call of calls) await call.start();
});
beforeEach(() => {
  heard = [];
  for (const call of calls) call.answered();
});
afterAll(async () => {
  for (const call of calls) await call.stop();
  await database.drop();
});

const say = (payload: string) => database.database.notify(runsChannel, payload);

test("runs that wait are one process's to take, and after a moment any other's", async () => {
  await say("wake:0");
  await expect.poll(() => heard).toEqual(["first", "second, late"]);
  heard = [];
  await say("wake:3");
  await expect.poll(() => heard).toEqual(["second", "first, late"]);
});

test("what is for all reaches all at once: an older server's call, and a cancellation", async () => {
  await say("wake");
  await expect.poll(() => heard.toSorted()).toEqual(["first", "second"]);
  heard = [];
  await say("cancel:a-run:rollback");
  await expect.poll(() => heard.toSorted()).toEqual(["first rollback a-run", "second rollback a-run"]);
});
