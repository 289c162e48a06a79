import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { storeRun } from "../../../tests/support/stored-run.ts";
import { raw } from "../../platform/db/raw.ts";
import {
  copyThreadCheckpoints,
  deleteRunCheckpoints,
  deleteThreadCheckpoints,
  keepLatestCheckpoints,
  measureThreadCheckpoints,
} from "./checkpoint-maintenance-store.ts";
import { CheckpointStore } from "./checkpoint-store.ts";

let test: TestDatabase;
let store: CheckpointStore;
let threadId: string;

beforeAll(async () => {
  test = await createTestDatabase();
  store = new CheckpointStore(test.database);
});
afterAll(() => test.drop());
beforeEach(() => {
  threadId = randomUUID();
});

const json = (value: unknown) => ({ type: "json", text: JSON.stringify(value) });

type Step = { ns?: string; parent?: string; refs?: string[]; runId?: string; metadata?: string };

/** Checkpoints that each add a message to a long list of their parent's; the first of them stores it whole. */
async function putGrown(ids: readonly string[], runIds: Record<string, string> = {}): Promise<void> {
  for (const [index, id] of ids.entries()) {
    const own = { channel: "messages", version: id };
    const runId = runIds[id];
    await store.put(
      {
        ...{ threadId, checkpointNs: "", checkpointId: id, parentCheckpointId: ids[index - 1] ?? null },
        ...{ structure: "{}", metadata: "{}", blobRefs: [own] },
        blobs: [{ ...own, payload: json(longList(index)) }],
      },
      runId === undefined ? undefined : { runId, attempt: 1 },
    );
  }
}

const longList = (more: number) => [
  "x".repeat(5_000),
  ...Array.from({ length: more }, (_, n) => `more ${n}`),
];

/** Another process, which remembers nothing. */
async function latestMessages(thread = threadId): Promise<unknown> {
  const stored = await new CheckpointStore(test.database).get({ threadId: thread, checkpointNs: "" });
  return JSON.parse(stored!.blobs.get("messages")!.text);
}

/** A checkpoint that stores a value of its own and refers to older ones, with one write. */
async function put(id: string, step: Step = {}): Promise<void> {
  const place = { threadId, checkpointNs: step.ns ?? "", checkpointId: id };
  const own = { channel: "messages", version: id };
  const refs = (step.refs ?? []).map((version) => ({ channel: "notes", version }));
  const fence = step.runId === undefined ? undefined : { runId: step.runId, attempt: 1 };
  await store.put(
    {
      ...place,
      parentCheckpointId: step.parent ?? null,
      structure: "{}",
      metadata: step.metadata ?? "{}",
      blobRefs: [own, ...refs],
      blobs: [
        { ...own, payload: json([id]) },
        { channel: "notes", version: id, payload: json(`note ${id}`) },
      ],
    },
    fence,
  );
  await putWrite(place.checkpointNs, id, "task", step.runId);
}

async function putWrite(checkpointNs: string, checkpointId: string, taskId: string, runId?: string) {
  const writes = [{ idx: 0, channel: "x", payload: json(taskId) }];
  const fence = runId === undefined ? undefined : { runId, attempt: 1 };
  await store.putWrites({ threadId, checkpointNs, checkpointId, taskId, writes }, fence);
}

/** The one before has ended. */
async function createRun(): Promise<string> {
  await raw`update runs set status = 'success' where thread_id = ${threadId}`.execute(test.database.sql);
  return storeRun(test.database.sql, threadId);
}

async function rows(thread = threadId) {
  const column = async (table: string, expression: string): Promise<string[]> => {
    const text = `select ${expression} as key from ${table} where thread_id = '${thread}' order by 1`;
    const result = await raw<{ key: string }>`${raw.raw(text)}`.execute(test.database.sql);
    return result.rows.map((row) => row.key);
  };
  return {
    checkpoints: await column("checkpoints", "checkpoint_ns || '/' || checkpoint_id"),
    blobs: await column("checkpoint_blobs", "checkpoint_ns || '/' || channel || '/' || version"),
    writes: await column("checkpoint_writes", "checkpoint_ns || '/' || checkpoint_id || '/' || task_id"),
  };
}

const nothing = { checkpoints: [], blobs: [], writes: [] };

describe("deleteThreadCheckpoints", () => {
  it("removes everything of the threads named and nothing else", async () => {
    const other = threadId;
    await put("a");
    const kept = await rows(other);
    threadId = randomUUID();
    await put("a", { ns: "child:1" });
    await deleteThreadCheckpoints(test.database.sql, [threadId]);
    expect(await rows()).toEqual(nothing);
    expect(await rows(other)).toEqual(kept);
  });
});

describe("deleteRunCheckpoints", () => {
  it("takes back one run and leaves the state before it as it was", async () => {
    const first = await createRun();
    await put("a", { runId: first });
    const before = await rows();
    const second = await createRun();
    await putWrite("", "a", "resumed", second);
    await put("b", { runId: second, parent: "a", refs: ["a"] });
    await put("b2", { runId: second, ns: "child:1" });
    expect(await deleteRunCheckpoints(test.database.sql, { threadId, runId: second })).toEqual({
      checkpoints: 2,
    });
    const after = await rows();
    expect(after.checkpoints).toEqual(before.checkpoints);
    expect(after.writes).toEqual(before.writes);
    expect(after.blobs).toEqual(["/messages/a"]);
    const left = (await store.get({ threadId, checkpointNs: "" }))?.blobs.get("messages");
    expect(left).toEqual({ ...json(["a"]), version: "a" });
  });

  it("keeps a list of the run that a list of a later checkpoint adds to", async () => {
    const runId = await createRun();
    await putGrown(["a", "b", "c"], { a: runId });
    await deleteRunCheckpoints(test.database.sql, { threadId, runId });
    expect((await rows()).blobs).toEqual(["/messages/a", "/messages/b", "/messages/c"]);
    expect(await latestMessages()).toEqual(longList(2));
  });

  it("keeps values of the run that later checkpoints use", async () => {
    const first = await createRun();
    await put("a", { runId: first });
    await put("b", { refs: ["a"] });
    await deleteRunCheckpoints(test.database.sql, { threadId, runId: first });
    expect((await rows()).blobs).toEqual(["/messages/b", "/notes/a"]);
    const left = (await store.get({ threadId, checkpointNs: "" }))?.blobs.get("notes");
    expect(left).toEqual({ ...json("note a"), version: "a" });
  });

  it("does nothing for a run that wrote nothing", async () => {
    await put("a", { refs: ["a"] });
    const before = await rows();
    expect(await deleteRunCheckpoints(test.database.sql, { threadId, runId: randomUUID() })).toEqual({
      checkpoints: 0,
    });
    expect(await rows()).toEqual(before);
  });
});

describe("copyThreadCheckpoints", () => {
  it("makes a thread that reads the same and lives by itself", async () => {
    const runId = await createRun();
    await put("a", { runId, refs: ["a"] });
    await put("b", { runId, parent: "a", refs: ["a"], ns: "child:1" });
    const copy = randomUUID();
    await copyThreadCheckpoints(test.database.sql, threadId, copy);
    expect(await rows(copy)).toEqual(await rows());
    const [original, copied] = await Promise.all(
      [threadId, copy].map((id) => store.get({ threadId: id, checkpointNs: "child:1" })),
    );
    expect(copied).toEqual({ ...original, threadId: copy });
    await deleteRunCheckpoints(test.database.sql, { threadId: copy, runId });
    expect((await rows(copy)).checkpoints).toHaveLength(2);
    await deleteThreadCheckpoints(test.database.sql, [threadId]);
    expect((await rows(copy)).checkpoints).toHaveLength(2);
  });
});

it("a copied list still adds to the one it grew from", async () => {
  await putGrown(["a", "b"]);
  const copy = randomUUID();
  await copyThreadCheckpoints(test.database.sql, threadId, copy);
  await deleteThreadCheckpoints(test.database.sql, [threadId]);
  expect(await latestMessages(copy)).toEqual(longList(1));
});

describe("keepLatestCheckpoints", () => {
  it("leaves the latest state, what it refers to, and subgraphs still at work", async () => {
    await put("a");
    await put("b", { ns: "done:1" });
    await put("c", { parent: "a", refs: ["a"] });
    await put("d", { ns: "waiting:2" });
    await put("e", { ns: "waiting:2", parent: "d" });
    await put("b", { ns: "stateful" });
    expect(await keepLatestCheckpoints(test.database.sql, [threadId])).toEqual({ checkpoints: 3 });
    expect(await rows()).toEqual({
      checkpoints: ["/c", "stateful/b", "waiting:2/e"],
      blobs: ["/messages/c", "/notes/a", "stateful/messages/b", "waiting:2/messages/e"],
      writes: ["/c/task", "stateful/b/task", "waiting:2/e/task"],
    });
    expect(await store.get({ threadId, checkpointNs: "" })).toMatchObject({ parentCheckpointId: null });
  });

  it("leaves the list that the latest one adds to", async () => {
    await putGrown(["a", "b", "c"]);
    expect(await keepLatestCheckpoints(test.database.sql, [threadId])).toEqual({ checkpoints: 2 });
    expect((await rows()).blobs).toEqual(["/messages/a", "/messages/c"]);
    expect(await latestMessages()).toEqual(longList(2));
  });

  it("leaves the history a channel stored as differences needs", async () => {
    const metadata = JSON.stringify({ counters_since_delta_snapshot: { messages: [1, 1] } });
    await put("a");
    await put("b", { parent: "a", metadata });
    expect(await keepLatestCheckpoints(test.database.sql, [threadId])).toEqual({ checkpoints: 0 });
    expect(await store.get({ threadId, checkpointNs: "" })).toMatchObject({ parentCheckpointId: "a" });
  });
});

describe("measureThreadCheckpoints", () => {
  it("counts rows and bytes per part and channel", async () => {
    await put("a");
    await put("b");
    expect(await measureThreadCheckpoints(test.database.sql, threadId)).toEqual({
      checkpoints: { count: 2, bytes: 8 },
      channel_values: {
        count: 4,
        bytes: 26,
        by_channel: { messages: { count: 2, bytes: 10 }, notes: { count: 2, bytes: 16 } },
      },
      pending_writes: { count: 2, bytes: 12 },
    });
  });

  it("is zero for a thread without any", async () => {
    const zero = { count: 0, bytes: 0 };
    expect(await measureThreadCheckpoints(test.database.sql, randomUUID())).toEqual({
      checkpoints: zero,
      channel_values: { ...zero, by_channel: {} },
      pending_writes: zero,
    });
  });
});
