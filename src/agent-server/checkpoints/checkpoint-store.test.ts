import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { storeRun } from "../../../tests/support/stored-run.ts";
import { raw } from "../../platform/db/raw.ts";
import type { CheckpointInput, CheckpointQuery, StoredCheckpoint } from "./checkpoint.ts";
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

function checkpoint(checkpointId: string, change: Partial<CheckpointInput> = {}): CheckpointInput {
  return {
    threadId,
    checkpointNs: "",
    checkpointId,
    parentCheckpointId: null,
    structure: `{"of":"${checkpointId}"}`,
    metadata: "{}",
    blobRefs: [],
    blobs: [],
    ...change,
  };
}

const latest = (ns = "") => store.get({ threadId, checkpointNs: ns });

async function list(query: CheckpointQuery): Promise<StoredCheckpoint[]> {
  const all: StoredCheckpoint[] = [];
  for await (const page of store.list(query)) all.push(...page);
  return all;
}
const ids = (found: StoredCheckpoint[]) => found.map((one) => one.checkpointId);

/** A run of this thread, as the queue would leave it. */
const createRun = (attempt: number, status?: string) =>
  storeRun(test.database.sql, threadId, { attempt, status });

describe("put and get", () => {
  it("reads its own write, the latest and by id", async () => {
    await store.put(checkpoint("a"));
    await store.put(checkpoint("b", { parentCheckpointId: "a" }));
    expect(await latest()).toMatchObject({ checkpointId: "b", parentCheckpointId: "a" });
    expect(await store.get({ threadId, checkpointNs: "", checkpointId: "a" })).toMatchObject({
      structure: '{"of":"a"}',
    });
    expect(await store.get({ threadId, checkpointNs: "", checkpointId: "aa" })).toBeUndefined();
    expect(await latest("other")).toBeUndefined();
  });

  it("finds a value an earlier checkpoint stored, and leaves out one never stored", async () => {
    const ref = { channel: "messages", version: "1.5" };
    await store.put(checkpoint("a", { blobRefs: [ref], blobs: [{ ...ref, payload: json([1]) }] }));
    await store.put(checkpoint("b", { blobRefs: [ref, { channel: "gone", version: "1" }] }));
    expect([...((await latest())?.blobs ?? [])]).toEqual([["messages", { ...json([1]), version: "1.5" }]]);
  });

  it("orders writes by task, then place", async () => {
    await store.put(checkpoint("a"));
    const place = { threadId, checkpointNs: "", checkpointId: "a" };
    await store.putWrites({
      ...place,
      taskId: "t2",
      writes: [{ idx: 0, channel: "x", payload: json("t2") }],
    });
    await store.putWrites({
      ...place,
      taskId: "t1",
      writes: [
        { idx: 1, channel: "x", payload: json("second") },
        { idx: 0, channel: "x", payload: json("first") },
      ],
    });
    const found = (await latest())?.writes.map((write) => write.payload.text);
    expect(found).toEqual(['"first"', '"second"', '"t2"']);
  });

  it("keeps the first of an ordinary write and the last of a special one, over flushes as well", async () => {
    await store.put(checkpoint("a"));
    for (const value of ["first", "second"]) {
      await store.putWrites({
        threadId,
        checkpointNs: "",
        checkpointId: "a",
        taskId: "t",
        writes: [
          { idx: 0, channel: "x", payload: json(value) },
          { idx: -4, channel: "__resume__", payload: json(value) },
        ],
      });
    }
    expect((await latest())?.writes.map((write) => [write.idx, write.payload.text])).toEqual([
      [-4, '"second"'],
      [0, '"first"'],
    ]);
  });

  it("lets the last of many special writes win that nobody awaited one by one", async () => {
    await store.put(checkpoint("a"));
    const place = { threadId, checkpointNs: "", checkpointId: "a", taskId: "t" };
    const pending: Promise<void>[] = [];
    for (let value = 0; value < 40; value += 1) {
      const writes = [{ idx: -4, channel: "__resume__", payload: json(value) }];
      pending.push(store.putWrites({ ...place, writes }));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(pending);
    expect((await latest())?.writes.map((write) => write.payload)).toEqual([json(39)]);
  });

  it("accepts the same checkpoint twice in one flush", async () => {
    await Promise.all([
      store.put(checkpoint("a", { structure: '"one"' })),
      store.put(checkpoint("a", { structure: '"two"' })),
    ]);
    expect((await latest())?.structure).toBe('"two"');
  });

  it("keeps names and values that Postgres text or jsonb would refuse", async () => {
    const channel = 'n\0ul "quote" \ud800 {,}\\';
    const ref = { channel, version: "1" };
    const value = { text: "a\0b \ud83d", emoji: "😀" };
    const ns = "odd\0space";
    await store.put(
      checkpoint("a", { checkpointNs: ns, blobRefs: [ref], blobs: [{ ...ref, payload: json(value) }] }),
    );
    await store.putWrites({
      threadId,
      checkpointNs: ns,
      checkpointId: "a",
      taskId: "t",
      writes: [{ idx: 0, channel, payload: json(value) }],
    });
    const found = await latest(ns);
    expect(found?.checkpointNs).toBe(ns);
    expect(JSON.parse(found?.blobs.get(channel)?.text ?? "")).toEqual(value);
    expect(found?.writes[0]?.channel).toBe(channel);
    expect(ids(await list({ threadId, checkpointNs: ns }))).toEqual(["a"]);
  });

  it("keeps a value of several megabytes", async () => {
    const ref = { channel: "big", version: "1" };
    const payload = json("é".repeat(3_000_000));
    await store.put(checkpoint("a", { blobRefs: [ref], blobs: [{ ...ref, payload }] }));
    expect((await latest())?.blobs.get("big")?.text === payload.text).toBe(true);
  });

  it("fails a row that cannot be stored, and only that one", async () => {
    const results = await Promise.allSettled([
      store.put(checkpoint("a")),
      store.put(checkpoint("x", { threadId: "nul\0" })),
      store.put(checkpoint("b")),
    ]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(ids(await list({ threadId }))).toEqual(["b", "a"]);
  });

  it("keeps 200 threads apart that write and read at once", async () => {
    const threads = Array.from({ length: 200 }, () => randomUUID());
    await Promise.all(
      threads.map(async (thread) => {
        const ref = { channel: "messages", version: "1" };
        const blobs = [{ ...ref, payload: json(thread) }];
        await store.put(checkpoint("a", { threadId: thread, blobRefs: [ref], blobs }));
        const place = { threadId: thread, checkpointNs: "", checkpointId: "a", taskId: "t" };
        await store.putWrites({ ...place, writes: [{ idx: 0, channel: "x", payload: json(thread) }] });
        const found = await store.get({ threadId: thread, checkpointNs: "" });
        expect(found?.blobs.get("messages")).toEqual({ ...json(thread), version: "1" });
        expect(found?.writes.map((write) => write.payload)).toEqual([json(thread)]);
      }),
    );
    const [writes] = store.stats();
    expect(writes?.largestFlush).toBeGreaterThan(1);
  });
});

describe("fence", () => {
  it("writes while the attempt holds the run", async () => {
    const fence = { runId: await createRun(2), attempt: 2 };
    await store.put(checkpoint("a"), fence);
    expect(await latest()).toMatchObject({ checkpointId: "a" });
    expect(await store.hasCheckpointOf(threadId, fence.runId)).toBe(true);
    expect(await store.hasCheckpointOf(threadId, randomUUID())).toBe(false);
  });

  it("refuses everything once another attempt has the run", async () => {
    const runId = await createRun(1);
    const fence = { runId, attempt: 1 };
    await store.put(checkpoint("a"), fence);
    await raw`update runs set attempt = 2 where run_id = ${runId}`.execute(test.database.sql);
    const ref = { channel: "messages", version: "1" };
    const stale = checkpoint("b", { blobRefs: [ref], blobs: [{ ...ref, payload: json(1) }] });
    await expect(store.put(stale, fence)).rejects.toMatchObject({ code: "run.lease_lost", kind: "conflict" });
    const place = { threadId, checkpointNs: "", checkpointId: "a", taskId: "t" };
    const writes = [{ idx: 0, channel: "x", payload: json(1) }];
    await expect(store.putWrites({ ...place, writes }, fence)).rejects.toMatchObject({
      code: "run.lease_lost",
    });
    expect(await latest()).toMatchObject({ checkpointId: "a", writes: [] });
    const { rows } = await raw`select 1 from checkpoint_blobs where thread_id = ${threadId}`.execute(
      test.database.sql,
    );
    expect(rows).toEqual([]);
  });

  it.each(["success", "interrupted", "pending"])("refuses when the run is %s", async (status) => {
    const fence = { runId: await createRun(1, status), attempt: 1 };
    await expect(store.put(checkpoint("a"), fence)).rejects.toMatchObject({ code: "run.lease_lost" });
  });

  it("decides for each row of a flush by itself", async () => {
    const held = { runId: await createRun(3), attempt: 3 };
    const results = await Promise.allSettled([
      store.put(checkpoint("a"), held),
      store.put(checkpoint("b"), { runId: randomUUID(), attempt: 1 }),
      store.put(checkpoint("c"), { ...held, attempt: 2 }),
      store.put(checkpoint("d")),
    ]);
    expect(results.map((result) => result.status)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    expect(ids(await list({ threadId }))).toEqual(["d", "a"]);
  });

  it("does not lose a write whose key a refused one shares", async () => {
    const held = { runId: await createRun(2), attempt: 2 };
    const results = await Promise.allSettled([
      store.put(checkpoint("a", { structure: '"good"' }), held),
      store.put(checkpoint("a", { structure: '"stale"' }), { ...held, attempt: 1 }),
    ]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected"]);
    expect((await latest())?.structure).toBe('"good"');
  });
});

describe("list", () => {
  it("is newest first, within before and limit", async () => {
    for (const id of ["a", "b", "c", "d"]) await store.put(checkpoint(id));
    expect(ids(await list({ threadId, checkpointNs: "" }))).toEqual(["d", "c", "b", "a"]);
    expect(ids(await list({ threadId, checkpointNs: "", before: "d", limit: 2 }))).toEqual(["c", "b"]);
    expect(ids(await list({ threadId, checkpointNs: "", checkpointId: "b" }))).toEqual(["b"]);
    expect(ids(await list({ threadId, limit: 0 }))).toEqual([]);
  });

  it("goes on over pages without missing or repeating one, over namespaces too", async () => {
    const names = Array.from({ length: 130 }, (_, index) => `c${String(index).padStart(4, "0")}`);
    await Promise.all(
      names.flatMap((id) => [
        store.put(checkpoint(id)),
        store.put(checkpoint(id, { checkpointNs: "child:1" })),
      ]),
    );
    const found = await list({ threadId });
    const keys = found.map((one) => `${one.checkpointId}/${one.checkpointNs}`);
    expect(new Set(keys).size).toBe(260);
    expect(ids(found)).toEqual([...ids(found)].sort().reverse());
    expect(ids(await list({ threadId, checkpointNs: "child:1", limit: 120 }))).toEqual(
      [...names].reverse().slice(0, 120),
    );
  });

  it("filters by what the metadata contains", async () => {
    const metadata = (value: unknown) => ({ metadata: JSON.stringify(value) });
    await store.put(checkpoint("a", metadata({ source: "input", user: { name: "a\0b", age: 1 } })));
    await store.put(checkpoint("b", metadata({ source: "loop", odd: "\ud800", path: "\\u0000" })));
    const find = async (filter: Record<string, unknown>) => ids(await list({ threadId, filter }));
    expect(await find({})).toEqual(["b", "a"]);
    expect(await find({ source: "loop" })).toEqual(["b"]);
    expect(await find({ user: { age: 1 } })).toEqual(["a"]);
    expect(await find({ user: { name: "a\0b" } })).toEqual(["a"]);
    expect(await find({ source: "update" })).toEqual([]);
  });

  it("gives checkpoints that share a value the same object", async () => {
    const ref = { channel: "messages", version: "1" };
    await store.put(checkpoint("a", { blobRefs: [ref], blobs: [{ ...ref, payload: json([1]) }] }));
    await store.put(checkpoint("b", { blobRefs: [ref] }));
    const [newer, older] = await list({ threadId });
    expect(newer?.blobs.get("messages")).toBe(older?.blobs.get("messages"));
  });
});

describe("with the thread, for a workspace", () => {
  const workspaceId = randomUUID();

  async function createThread(metadata: Record<string, unknown> = { graph_id: "echo" }): Promise<void> {
    await raw`insert into threads (thread_id, workspace_id, metadata)
      values (${threadId}, ${workspaceId}, ${JSON.stringify(metadata)}::jsonb)`.execute(test.database.sql);
  }
  const own = (checkpointId?: string) =>
    store.getOwn({ workspaceId, threadId, checkpointNs: "", checkpointId });

  it("reads the newest checkpoint or one by its id, and the thread's graph", async () => {
    await createThread();
    const ref = { channel: "messages", version: "1" };
    await store.put(checkpoint("a", { blobRefs: [ref], blobs: [{ ...ref, payload: json([1]) }] }));
    await store.put(checkpoint("b"));
    const thread = { threadId, graphId: "echo" };
    expect(await own()).toMatchObject({ thread, checkpoint: { checkpointId: "b" } });
    expect(await own("a")).toEqual({
      thread,
      checkpoint: await store.get({ threadId, checkpointNs: "", checkpointId: "a" }),
    });
    expect(await own("c")).toEqual({ thread, checkpoint: undefined });
  });

  it("knows a thread without checkpoints, and one whose metadata names no graph", async () => {
    await createThread({ graph_id: 5 });
    const thread = { threadId, graphId: undefined };
    expect(await own()).toEqual({ thread, checkpoint: undefined });
    expect(await store.listOwn({ workspaceId, threadId, limit: 10 })).toEqual({ thread, pages: [] });
  });

  it("answers nothing of the thread of another workspace, also beside its own", async () => {
    await createThread();
    await store.put(checkpoint("a"));
    const foreign = { workspaceId: randomUUID(), threadId, checkpointNs: "" };
    const [other, mine] = await Promise.all([store.getOwn(foreign), own()]);
    expect(other).toBeUndefined();
    expect(mine).toMatchObject({ checkpoint: { checkpointId: "a" } });
    expect(await store.listOwn({ ...foreign, limit: 10 })).toBeUndefined();
    expect(await store.getOwn({ ...foreign, threadId: randomUUID() })).toBeUndefined();
  });

  it("lists as `list` does, over pages too", async () => {
    await createThread();
    const names = Array.from({ length: 120 }, (_, index) => `c${String(index).padStart(3, "0")}`);
    await Promise.all(names.map((name) => store.put(checkpoint(name, { metadata: `{"step":"${name}"}` }))));
    const query = { threadId, checkpointNs: "" };
    for (const more of [{}, { limit: 7 }, { before: "c005" }, { filter: { step: "c001" } }]) {
      const found = await store.listOwn({ ...query, ...more, workspaceId });
      expect(found?.thread).toEqual({ threadId, graphId: "echo" });
      expect(found?.pages.flat()).toEqual(await list({ ...query, ...more }));
    }
  });
});
