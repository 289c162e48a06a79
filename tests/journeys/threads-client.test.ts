import { randomUUID } from "node:crypto";
import { RemoteGraph } from "@langchain/langgraph/remote";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { createTestDatabase } from "../support/database.ts";

/** Every method of the SDK's threads client, and RemoteGraph, against a listening server. */
let test: Awaited<ReturnType<typeof createTestDatabase>>;
let server: TestAgentServer;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 2 });
  server = await startTestAgentServer(test.url);
});
afterAll(async () => {
  await server?.stop();
  await test?.drop();
});

const ran = async (runs = 1) => {
  const thread = await server.client.threads.create();
  for (let index = 0; index < runs; index += 1) {
    await server.client.runs.wait(thread.thread_id, "slow", { input: { pause: 1 } });
  }
  return thread.thread_id;
};

describe("threads client", () => {
  it("create: id, metadata, if_exists and time to live", async () => {
    const { threads } = server.client;
    const threadId = randomUUID();
    const metadata = { owner: "ada" };
    const thread = await threads.create({ threadId, metadata, ttl: { ttl: 5, strategy: "delete" } });
    expect(thread).toMatchObject({
      thread_id: threadId,
      metadata,
      status: "idle",
      values: null,
      interrupts: {},
    });
    await expect(threads.create({ threadId })).rejects.toThrow(/409/);
    expect((await threads.create({ threadId, ifExists: "do_nothing" })).metadata).toMatchObject(metadata);
    const withTtl = (await threads.get(threadId, { include: ["ttl"] })) as { ttl?: unknown };
    expect(withTtl.ttl).toMatchObject({ strategy: "delete", ttl_minutes: 5 });
  });

  it("create with supersteps brings a state along", async () => {
    const { threads } = server.client;
    const thread = await threads.create({
      graphId: "slow",
      supersteps: [
        { updates: [{ values: { steps: ["first"], pause: 1 }, asNode: "__input__" }] },
        { updates: [{ values: { steps: ["first"], pause: 1 }, asNode: "__start__" }] },
        { updates: [{ values: { steps: ["second"] }, asNode: "one" }] },
      ],
    });
    const state = await threads.getState(thread.thread_id);
    expect(state).toMatchObject({ values: { steps: ["first", "second"] }, next: ["two"] });
  });

  it("update and patchState merge metadata", async () => {
    const { threads } = server.client;
    const { thread_id } = await threads.create({ metadata: { a: 1 } });
    expect((await threads.update(thread_id, { metadata: { b: 2 } })).metadata).toMatchObject({ a: 1, b: 2 });
    await threads.patchState(thread_id, { c: 3 });
    expect((await threads.get(thread_id)).metadata).toMatchObject({ a: 1, b: 2, c: 3 });
  });

  it("search filters, sorts, pages, selects and extracts; count counts", async () => {
    const { threads } = server.client;
    const group = randomUUID();
    const ids: string[] = [];
    for (const n of [1, 2, 3]) ids.push((await threads.create({ metadata: { group, n } })).thread_id);
    const found = await threads.search({
      metadata: { group },
      sortBy: "created_at",
      sortOrder: "asc",
      limit: 2,
    });
    expect(found.map((thread) => thread.thread_id)).toEqual(ids.slice(0, 2));
    const rest = await threads.search({
      metadata: { group },
      sortBy: "created_at",
      sortOrder: "asc",
      offset: 2,
    });
    expect(rest.map((thread) => thread.thread_id)).toEqual(ids.slice(2));
    expect(await threads.count({ metadata: { group } })).toBe(3);
    const [selected] = await threads.search({
      ids: [ids[0]!],
      select: ["thread_id"],
      extract: { n: "metadata.n" },
    });
    expect(selected).toEqual({ thread_id: ids[0], extracted: { n: 1 } });
    const threadId = await ran();
    const byValues = await threads.search({ values: { pause: 1 }, ids: [threadId] });
    expect(byValues.map((thread) => thread.thread_id)).toEqual([threadId]);
  });

  it("getState reads the latest, one by id and one by checkpoint", async () => {
    const { threads } = server.client;
    const threadId = await ran();
    const history = await threads.getHistory<{ steps: string[] }>(threadId, { limit: 100 });
    expect(history.map((state) => state.values.steps.length)).toEqual([3, 2, 1, 0, 0]);
    const second = history[1]!;
    const byId = await threads.getState(threadId, second.checkpoint.checkpoint_id!);
    expect(byId).toMatchObject({ values: second.values, next: ["three"] });
    expect(await threads.getState(threadId, second.checkpoint, { subgraphs: true })).toMatchObject({
      next: ["three"],
    });
    const older = await threads.getHistory(threadId, { limit: 2, before: second.checkpoint as never });
    expect(older.map((state) => state.checkpoint.checkpoint_id)).toEqual(
      history.slice(2, 4).map((state) => state.checkpoint.checkpoint_id),
    );
    const filtered = await threads.getHistory(threadId, { limit: 10, metadata: { step: 1 } as never });
    expect(filtered).toHaveLength(1);
  });

  it("updateState writes as a node; a run can fork from an earlier checkpoint", async () => {
    const { client } = server;
    const threadId = await ran();
    const history = await client.threads.getHistory(threadId, { limit: 100 });
    const fork = history.find((state) => state.next[0] === "two")!;
    const { checkpoint } = (await client.threads.updateState(threadId, {
      values: { steps: ["changed"] },
      asNode: "one",
      checkpoint: fork.checkpoint as never,
    })) as unknown as { checkpoint: { checkpoint_id: string } };
    const values = (await client.runs.wait(threadId, "slow", {
      input: null,
      checkpointId: checkpoint.checkpoint_id,
    })) as { steps: string[] };
    expect(values.steps.map((step) => step.split("@")[0])).toEqual(["one", "changed", "two", "three"]);
  });

  it("copy takes state and history along, and leaves the original alone", async () => {
    const { threads, ...rest } = server.client;
    const threadId = await ran();
    const copy = await threads.copy(threadId);
    expect(copy.thread_id).not.toBe(threadId);
    const [a, b] = await Promise.all([
      threads.getHistory(threadId, { limit: 100 }),
      threads.getHistory(copy.thread_id, { limit: 100 }),
    ]);
    expect(b.map((state) => state.values)).toEqual(a.map((state) => state.values));
    await rest.runs.wait(copy.thread_id, "slow", { input: { pause: 1 } });
    expect(await threads.getHistory(threadId, { limit: 100 })).toEqual(a);
  });

  it("prune keeps the latest state, or deletes", async () => {
    const { threads } = server.client;
    const kept = await ran(2);
    const before = await threads.getState(kept);
    expect(await threads.prune([kept], { strategy: "keep_latest" })).toEqual({ pruned_count: 1 });
    expect((await threads.getState(kept)).values).toEqual(before.values);
    expect(await threads.getHistory(kept, { limit: 100 })).toHaveLength(1);
    expect(await threads.prune([kept, randomUUID()])).toEqual({ pruned_count: 1 });
    await expect(threads.get(kept)).rejects.toThrow(/404/);
  });

  it("delete removes it with everything", async () => {
    const threadId = await ran();
    await server.client.threads.delete(threadId);
    await expect(server.client.threads.get(threadId)).rejects.toThrow(/404/);
    await expect(server.client.threads.delete(threadId)).rejects.toThrow(/404/);
  });
});

describe("RemoteGraph", () => {
  it("invokes, streams, reads and changes state like a local graph", async () => {
    const remote = new RemoteGraph({ graphId: "slow", url: server.url });
    const thread = await server.client.threads.create();
    const config = { configurable: { thread_id: thread.thread_id } };
    const result = (await remote.invoke({ pause: 1 }, config)) as { steps: string[] };
    expect(result.steps.map((step) => step.split("@")[0])).toEqual(["one", "two", "three"]);
    const updates: string[] = [];
    for await (const chunk of await remote.stream({ pause: 1 }, { ...config, streamMode: "updates" })) {
      updates.push(...Object.keys(chunk as object));
    }
    expect(updates).toEqual(["one", "two", "three"]);
    await remote.updateState(config, { steps: ["from afar"] }, "three");
    const state = await remote.getState(config);
    expect((state.values as { steps: string[] }).steps.at(-1)).toBe("from afar");
    const drawn = await remote.getGraphAsync();
    expect(Object.keys(drawn.nodes)).toEqual(
      expect.arrayContaining(["__start__", "one", "two", "three", "__end__"]),
    );
  });
});
