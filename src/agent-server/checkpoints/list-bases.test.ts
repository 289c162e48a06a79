import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { storeRun } from "../../../tests/support/stored-run.ts";
import { raw } from "../../platform/db/raw.ts";
import type { CheckpointInput } from "./checkpoint.ts";
import {
  deleteRunCheckpoints,
  deleteThreadCheckpoints,
  keepLatestCheckpoints,
} from "./checkpoint-maintenance-store.ts";
import { CheckpointStore } from "./checkpoint-store.ts";

/** What a list adds to must not go before it, nor while it is being written. */
let test: TestDatabase;
let store: CheckpointStore;
let threadId: string;
const long = ["x".repeat(5_000)];
const more = [...long, "more"];

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(() => {
  store = new CheckpointStore(test.database);
  threadId = randomUUID();
});

function checkpoint(checkpointId: string, parent: string | null, list: unknown[]): CheckpointInput {
  const ref = { channel: "messages", version: checkpointId };
  return {
    ...{
      threadId,
      checkpointNs: "",
      checkpointId,
      parentCheckpointId: parent,
      structure: "{}",
      metadata: "{}",
    },
    ...{ blobRefs: [ref], blobs: [{ ...ref, payload: { type: "json", text: JSON.stringify(list) } }] },
  };
}

const createRun = () => storeRun(test.database.sql, threadId);

/** As another process finds it, which remembers nothing. */
async function latestMessages(): Promise<unknown> {
  const stored = await new CheckpointStore(test.database).get({ threadId, checkpointNs: "" });
  return JSON.parse(stored!.blobs.get("messages")!.text);
}

async function bases(): Promise<(string | null)[]> {
  const { rows } = await raw<{ base_version: string | null }>`select base_version from checkpoint_blobs
    where thread_id = ${threadId} order by version`.execute(test.database.sql);
  return rows.map((row) => row.base_version);
}

describe("a list whose base is gone when it is written", () => {
  it.each<[string, (runId: string) => Promise<unknown>]>([
    ["by taking back the run that wrote it", (runId) => deleteRun(runId)],
    ["with the thread", () => deleteThreadCheckpoints(test.database.sql, [threadId])],
  ])("is written whole: %s", async (_, remove) => {
    const runId = await createRun();
    await store.put(checkpoint("a", null, long), { runId, attempt: 1 });
    await store.get({ threadId, checkpointNs: "" });
    await remove(runId);
    await store.put(checkpoint("b", "a", more));
    expect(await latestMessages()).toEqual(more);
    expect(await bases()).toEqual([null]);
    await store.put(checkpoint("c", "b", [...more, "and more"]));
    expect(await latestMessages()).toEqual([...more, "and more"]);
  });

  it("is written whole where an older checkpoint is left by keeping the latest", async () => {
    await store.put(checkpoint("a", null, long));
    await store.put(checkpoint("b", "a", ["another list"]));
    await store.get({ threadId, checkpointNs: "", checkpointId: "a" });
    await test.database.transaction((tx) => keepLatestCheckpoints(tx, [threadId]));
    await store.put(checkpoint("c", "a", more));
    expect(await latestMessages()).toEqual(more);
  });

  it("leaves what else is in its batch as it is", async () => {
    const fence = { runId: randomUUID(), attempt: 1 };
    await store.put(checkpoint("a", null, long));
    await deleteThreadCheckpoints(test.database.sql, [threadId]);
    const other = { ...checkpoint("x", null, ["other"]), threadId: randomUUID() };
    const outcomes = await Promise.allSettled([
      store.put(checkpoint("b", "a", more)),
      store.put(other),
      store.put({ ...checkpoint("y", null, ["refused"]), threadId: randomUUID() }, fence),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    expect(await latestMessages()).toEqual(more);
    expect((await store.get({ threadId: other.threadId, checkpointNs: "" }))?.checkpointId).toBe("x");
  });
});

const deleteRun = (runId: string) =>
  test.database.transaction((tx) => deleteRunCheckpoints(tx, { threadId, runId }));

describe("two at once", () => {
  it("who deletes waits for who adds, and then sees it", async () => {
    const runId = await createRun();
    await store.put(checkpoint("a", null, long), { runId, attempt: 1 });
    const written = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    // What the statement of a put does, before its commit.
    const adding = test.database.transaction(async (tx) => {
      await raw`select from checkpoint_blobs where thread_id = ${threadId} for key share`.execute(tx);
      await raw`insert into checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, structure, metadata,
          blob_channels, blob_versions)
        values (${threadId}, '', 'b', 'a', '{}', '{}', '{messages}', '{b}')`.execute(tx);
      await raw`insert into checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, payload, base_version)
        values (${threadId}, '', 'messages', 'b', 'json', ',"more"]', 'a')`.execute(tx);
      written.resolve();
      await goOn.promise;
    });
    await written.promise;
    const deleting = deleteRun(runId);
    expect(await Promise.race([deleting, new Promise((resolve) => setTimeout(resolve, 200, "waits"))])).toBe(
      "waits",
    );
    goOn.resolve();
    await Promise.all([adding, deleting]);
    expect(await bases()).toEqual([null, "a"]);
    expect(await latestMessages()).toEqual(more);
  });

  it("who adds waits for nobody who deletes", async () => {
    const runId = await createRun();
    await store.put(checkpoint("a", null, long), { runId, attempt: 1 });
    await test.database.transaction(async (tx) => {
      await deleteRunCheckpoints(tx, { threadId, runId });
      await store.put(checkpoint("b", "a", more));
    });
    expect(await latestMessages()).toEqual(more);
    expect(await bases()).toEqual([null]);
  });
});

it("no list is an addition while somebody does not know them", async () => {
  let mayAdd = false;
  const careful = new CheckpointStore(test.database, { mayAdd: () => mayAdd });
  await careful.put(checkpoint("a", null, long));
  await careful.put(checkpoint("b", "a", more));
  mayAdd = true;
  await careful.put(checkpoint("c", "b", [...more, "and more"]));
  expect(await bases()).toEqual([null, null, "b"]);
});
