import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { newId } from "../../platform/ids.ts";
import { type InsertedRun, insertNewRuns, type NewRun } from "./run-store.ts";

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

function newRun(threadId = newId()): NewRun {
  return {
    ...{ runId: newId(), threadId, workspaceId: newId(), assistantId: newId(), graphId: "echo" },
    ...{ strategy: "enqueue", metadata: {}, kwargsJson: "{}", temporary: false },
    ...{ createThread: true, claim: true, delaySeconds: 0, threadMetadata: {}, threadConfig: {} },
    ...{ threadTtl: null, speaksProtocol: false },
  };
}

async function insert(run: NewRun, owner: string): Promise<InsertedRun> {
  const [inserted] = await insertNewRuns(test.database, [run], owner, 30);
  return inserted!;
}

async function eventsOf(threadId: string) {
  const { rows } = await raw<{ seq: number; number: number; data: string; run_id: string }>`
    select seq::int as seq, number::int as number, data, run_id from thread_events
    where thread_id = ${threadId} order by seq`.execute(test.database.sql);
  return rows;
}

describe("a run that starts at once", () => {
  it("is stored with its first event", async () => {
    const run = newRun();
    expect(await insert(run, newId())).toMatchObject({ status: "running", attempt: 1, new_thread: true });
    const [first, ...others] = await eventsOf(run.threadId);
    expect(first).toMatchObject({ seq: 1, number: 0, run_id: run.runId });
    expect(JSON.parse(first!.data)).toEqual({ run_id: run.runId, attempt: 1 });
    expect(others).toEqual([]);
  });

  it("that must wait has no event yet", async () => {
    const run = { ...newRun(), claim: false };
    expect(await insert(run, newId())).toMatchObject({ status: "pending", attempt: 0 });
    expect(await eventsOf(run.threadId)).toEqual([]);
  });

  it("is found again, at the same place, when its commit was not confirmed", async () => {
    const run = newRun();
    const owner = newId();
    const before = await insert(run, owner);
    const again = await insert(run, owner);
    expect(again).toMatchObject({ status: "running", attempt: 1, created_at: before.created_at });
    expect(Number(again.last_seq)).toBe(Number(before.last_seq));
    expect(await eventsOf(run.threadId)).toHaveLength(1);
  });

  it("belongs to the process that has taken it meanwhile", async () => {
    const run = newRun();
    await insert(run, newId());
    expect(await insert(run, newId())).toMatchObject({ status: "pending" });
  });

  it("goes on after the events that a thread of the same id has left", async () => {
    const first = newRun();
    await insert(first, newId());
    await raw`delete from runs where run_id = ${first.runId}`.execute(test.database.sql);
    await raw`delete from threads where thread_id = ${first.threadId}`.execute(test.database.sql);
    const second = newRun(first.threadId);
    expect(await insert(second, newId())).toMatchObject({ status: "running", new_thread: true });
    expect(await eventsOf(first.threadId)).toMatchObject([
      { seq: 1, run_id: first.runId },
      { seq: 2, run_id: second.runId },
    ]);
  });
});
