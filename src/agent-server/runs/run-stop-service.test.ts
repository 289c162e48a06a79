import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { replaceInDatabase } from "../../../tests/support/replaced-database.ts";
import type { Database } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import { ThreadFeed } from "../delivery/thread-feed.ts";
import { RunStopService } from "./run-stop-service.ts";
import { claimDueRuns, findRunById, insertNewRuns, type NewRun } from "./run-store.ts";

const workspaceId = newId();
let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 4 });
});
afterAll(() => test.drop());

/** A run that waits in the queue. */
async function waitingRun(threadId: string, graphId: string): Promise<string> {
  const run: NewRun = {
    runId: newId(),
    threadId,
    workspaceId,
    assistantId: newId(),
    graphId,
    strategy: "enqueue",
    metadata: {},
    kwargsJson: "{}",
    temporary: false,
    createThread: true,
    claim: false,
    delaySeconds: 0,
    threadMetadata: {},
    threadConfig: {},
    threadTtl: null,
    speaksProtocol: false,
  };
  await insertNewRuns(test.database, [run], newId(), 30);
  return run.runId;
}

/** Another process looks for work whenever this one has committed something. */
function withEagerNeighbour(database: Database, graphId: string): Database {
  const claim = () =>
    claimDueRuns(database, { limit: 10, owner: newId(), leaseSeconds: 30, graphIds: [graphId] });
  return replaceInDatabase(database, {
    async transaction(work) {
      const result = await database.transaction(work);
      await claim();
      return result;
    },
  });
}

function stopServiceOver(database: Database): RunStopService {
  const none = async () => undefined;
  return new RunStopService({
    database,
    feed: new ThreadFeed(database),
    worker: { cancel: () => false, resultOf: () => undefined },
    webhooks: { announceCancelled: none },
    drainCheckpoints: none,
    forgetCheckpoints: none,
  });
}

describe("making way for a new run", () => {
  it.each(["interrupt", "rollback"] as const)(
    "%s: a run that waits cannot begin between the look at it and its end",
    async (action) => {
      const threadId = newId();
      const graphId = newId();
      const runId = await waitingRun(threadId, graphId);
      const stopper = stopServiceOver(withEagerNeighbour(test.database, graphId));
      await stopper.makeWay(workspaceId, threadId, action);
      const run = await findRunById(test.database, workspaceId, runId);
      if (action === "rollback") expect(run).toBeNull();
      else expect(run).toMatchObject({ status: "interrupted", attempt: 0, started_at: null });
    },
  );

  it("leaves runs of other threads alone", async () => {
    const graphId = newId();
    const other = await waitingRun(newId(), graphId);
    await stopServiceOver(test.database).makeWay(workspaceId, newId(), "rollback");
    expect(await findRunById(test.database, workspaceId, other)).toMatchObject({ status: "pending" });
  });
});

describe("cancelling one run", () => {
  it("asks a running one, and ends one that waits", async () => {
    const graphId = newId();
    const threadId = newId();
    const running = await waitingRun(threadId, graphId);
    await claimDueRuns(test.database, { limit: 1, owner: newId(), leaseSeconds: 30, graphIds: [graphId] });
    const waiting = await waitingRun(threadId, graphId);
    const stopper = stopServiceOver(test.database);
    const head = { thread_id: threadId, graph_id: graphId, workspace_id: workspaceId };
    await stopper.cancel({ ...head, run_id: running }, "interrupt");
    await stopper.cancel({ ...head, run_id: waiting }, "interrupt");
    expect(await findRunById(test.database, workspaceId, running)).toMatchObject({
      status: "running",
      cancel_action: "interrupt",
    });
    expect(await findRunById(test.database, workspaceId, waiting)).toMatchObject({ status: "interrupted" });
  });
});
