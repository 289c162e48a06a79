import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { CheckpointInput } from "./checkpoint.ts";
import { CheckpointStore } from "./checkpoint-store.ts";
import { GrownLists } from "./grown-lists.ts";

const long = ["ü".repeat(3_000), "x".repeat(3_000)];
const more = [...long, "more"];
const jsonOf = (value: unknown) => ({ type: "json", text: JSON.stringify(value) });

type Step = { id: string; parent: string | null; version?: string };

/** A checkpoint of one thread whose messages are new with it. */
function step({ id, parent, version = id }: Step, value: unknown, payload = jsonOf(value)): CheckpointInput {
  const ref = { channel: "messages", version };
  return {
    ...{ threadId: "t", checkpointNs: "", checkpointId: id, parentCheckpointId: parent },
    ...{ structure: "{}", metadata: "{}", blobRefs: [ref], blobs: [{ ...ref, payload }] },
  };
}

const onlyBlob = ({ blobs }: CheckpointInput) => ({
  base: blobs[0]?.base,
  text: String(blobs[0]?.payload.text),
});
const whole = (value: unknown) => ({ base: undefined, text: JSON.stringify(value) });

describe("a list that only grew", () => {
  const first = step({ id: "a", parent: null }, long);
  const grown = step({ id: "b", parent: "a" }, more);

  it("is what it adds to the version of the parent, once that is committed", () => {
    const lists = new GrownLists();
    const { input, stored } = lists.shorten(first);
    expect(input).toEqual(first);
    expect(onlyBlob(lists.shorten(grown).input)).toEqual(whole(more));

    const again = new GrownLists();
    again.shorten(first).stored();
    stored();
    expect(onlyBlob(again.shorten(grown).input)).toMatchObject({ base: "a", text: ',"more"]' });
    const third = step({ id: "c", parent: "b" }, [...more, "and more"]);
    expect(onlyBlob(again.shorten(third).input)).toMatchObject({ base: "a", text: ',"more","and more"]' });
  });

  it("is what it adds to the version of a checkpoint that was read", () => {
    const lists = new GrownLists();
    const base = { ...jsonOf(long), version: "v" };
    const place = { threadId: "t", checkpointNs: "", checkpointId: "a", parentCheckpointId: null };
    const rest = { structure: "{}", metadata: "{}", writes: [] };
    lists.read({ ...place, ...rest, blobs: new Map([["messages", base]]) });
    expect(onlyBlob(lists.shorten(grown).input)).toMatchObject({ base: "v", text: ',"more"]' });
    const read = { ...jsonOf(more), version: "w", grown: { base, added: ',"more"]' } };
    lists.read({ ...place, ...rest, blobs: new Map([["messages", read]]) });
    expect(onlyBlob(lists.shorten(grown).input)).toMatchObject({ base: "v", text: ',"more"]' });
  });

  it("may be a buffer", () => {
    const lists = new GrownLists();
    lists.shorten(first).stored();
    const payload = { type: "json", text: Buffer.from(JSON.stringify(more)) };
    const input = { ...grown, blobs: [{ channel: "messages", version: "b", payload }] };
    expect(onlyBlob(lists.shorten(input).input)).toMatchObject({ base: "a", text: ',"more"]' });
  });

  it.each<[string, CheckpointInput]>([
    ["of another checkpoint", step({ id: "b", parent: "other" }, more)],
    ["of no checkpoint", step({ id: "b", parent: null }, more)],
    ["of another namespace", { ...grown, checkpointNs: "sub" }],
    ["of another thread", { ...grown, threadId: "u" }],
    ["that changed at its beginning", step({ id: "b", parent: "a" }, ["y", ...more])],
    ["that changed at its end", step({ id: "b", parent: "a" }, [long[0], `${long[1]}x`])],
    ["that grew by more than a quarter", step({ id: "b", parent: "a" }, [...long, "x".repeat(3_000)])],
    ["of another type", step({ id: "b", parent: "a" }, more, { type: "python", text: JSON.stringify(more) })],
    ["that is no list", step({ id: "b", parent: "a" }, { list: more })],
  ])("is whole where it is one %s", (_, input) => {
    const lists = new GrownLists();
    lists.shorten(first).stored();
    expect(lists.shorten(input).input).toEqual(input);
  });

  it("has the same base after a checkpoint that did not change it, and not after one that has another", () => {
    const lists = new GrownLists();
    lists.shorten(first).stored();
    const unchanged = { ...step({ id: "b", parent: "a", version: "a" }, 0), blobs: [] };
    lists.shorten(unchanged).stored();
    expect(onlyBlob(lists.shorten(step({ id: "c", parent: "b" }, more)).input)).toMatchObject({ base: "a" });
    const replaced = { ...step({ id: "d", parent: "c", version: "z" }, 0), blobs: [] };
    lists.shorten(replaced).stored();
    expect(onlyBlob(lists.shorten(step({ id: "e", parent: "d" }, more)).input)).toEqual(whole(more));
  });
});

describe("what was stored", () => {
  let test: TestDatabase;
  beforeAll(async () => {
    test = await createTestDatabase();
  });
  afterAll(() => test.drop());

  it("is read as it was written, whoever writes, reads, forks and shortens", {
    timeout: 60_000,
  }, async () => {
    const stores = [new CheckpointStore(test.database), new CheckpointStore(test.database)];
    const random = randomNumbers(20261119);
    const pick = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)]!;
    const threadId = randomUUID();
    const written = new Map<string, unknown[]>();
    let parent: string | null = null;
    for (let turn = 0; turn < 200; turn += 1) {
      const id = String(turn).padStart(4, "0");
      const store = pick(stores);
      if (parent !== null && random() < 0.3)
        await store.get({ threadId, checkpointNs: "", checkpointId: parent });
      const before: unknown[] = parent === null ? [] : written.get(parent)!;
      const added = Array.from(
        { length: Math.floor(random() * 3) },
        () => `${turn} ${"ü]".repeat(random() * 400)}`,
      );
      const list = random() < 0.05 ? before.slice(1) : [...before, ...added];
      await store.put({ ...step({ id, parent }, list), threadId });
      written.set(id, list);
      parent = random() < 0.1 ? pick([...written.keys()]) : id;
    }
    const read = new Map<string, unknown>();
    for await (const page of stores[0]!.list({ threadId }))
      for (const { checkpointId, blobs } of page)
        read.set(checkpointId, JSON.parse(blobs.get("messages")!.text));
    expect(Object.fromEntries(read)).toEqual(Object.fromEntries(written));
    const { rows } = await raw<{ additions: number }>`select count(base_version)::int as additions
      from checkpoint_blobs where thread_id = ${threadId}`.execute(test.database.sql);
    expect(rows[0]?.additions).toBeGreaterThan(50);
  });
});

/** The same ones each time. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
