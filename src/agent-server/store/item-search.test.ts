import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { systemClock } from "../../platform/clock.ts";
import { newId } from "../../platform/ids.ts";
import { createLogger } from "../../platform/logger.ts";
import type { EmbedText } from "./item-embedder.ts";
import { createStore } from "./store.ts";

const vocabulary = ["pizza", "wine", "bicycle", "rain"];

/** Counts words: similar texts share words, so the order of results is known. */
const embed: EmbedText = async (texts) =>
  texts.map((text) => vocabulary.map((word) => text.toLowerCase().split(word).length - 1));

let testDatabase: TestDatabase;
const logger = createLogger({ level: "silent" });

beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase?.drop());

async function openStore(embedText: EmbedText, fields?: string[]) {
  const { database } = testDatabase;
  const index = { embed: embedText, dims: vocabulary.length, ...(fields ? { fields } : {}) };
  const store = createStore({ database, clock: systemClock, logger, index });
  await store.start();
  const workspaceId = newId();
  const put = (key: string, value: Record<string, unknown>, index?: false | string[]) =>
    store.items.put(workspaceId, { namespace: ["m"], key, value, index });
  const search = (query: string, more: object = {}) =>
    store.items.search(workspaceId, { prefix: ["m"], query, limit: 10, offset: 0, ...more });
  return { ...store, workspaceId, put, search };
}

describe("search by meaning", () => {
  it("ranks by cosine similarity, with filter and pages", async () => {
    const { put, search } = await openStore(embed);
    await put("both", { text: "pizza and wine", kind: "food" });
    await put("pizza", { text: "pizza pizza pizza", kind: "food" });
    await put("bicycle", { text: "a bicycle", kind: "thing" });
    const found = await search("pizza");
    expect(found.map((item) => item.key)).toEqual(["pizza", "both", "bicycle"]);
    expect(found[0]!.score).toBeCloseTo(1, 5);
    expect(found[1]!.score).toBeCloseTo(Math.SQRT1_2, 5);
    expect(found[2]!.score).toBeCloseTo(0, 5);
    expect((await search("pizza", { filter: { kind: "thing" } })).map((item) => item.key)).toEqual([
      "bicycle",
    ]);
    expect((await search("pizza", { limit: 1, offset: 1 })).map((item) => item.key)).toEqual(["both"]);
  });

  it("indexes the configured fields, or those of the item, or none", async () => {
    const { put, search } = await openStore(embed, ["notes[*].text"]);
    await put("configured", { notes: [{ text: "rain" }, { text: "wine" }], title: "pizza" });
    await put("own", { title: "wine", notes: [{ text: "pizza" }] }, ["title"]);
    await put("none", { notes: [{ text: "wine" }] }, false);
    const scores = Object.fromEntries((await search("wine")).map((item) => [item.key, item.score]));
    expect(scores.configured).toBeCloseTo(1, 5);
    expect(scores.own).toBeCloseTo(1, 5);
    expect(scores).not.toHaveProperty("none");
    expect((await search("pizza")).find((item) => item.key === "configured")!.score).toBeCloseTo(0, 5);
  });

  it("forgets the vectors of what was overwritten or removed", async () => {
    const { items, workspaceId, put, search } = await openStore(embed);
    await put("k", { text: "pizza" });
    await put("k", { text: "rain" });
    expect((await search("pizza"))[0]!.score).toBeCloseTo(0, 5);
    await items.remove(workspaceId, { namespace: ["m"], key: "k" });
    expect(await search("rain")).toEqual([]);
  });

  it("keeps an item and its vectors together under concurrent writers", async () => {
    const { put, search } = await openStore(embed, ["texts[*]"]);
    const texts = [["pizza"], ["wine", "wine bicycle"], ["rain"], ["bicycle"]];
    await Promise.all(Array.from({ length: 24 }, (_, n) => put("k", { texts: texts[n % texts.length]! })));
    const [item] = await search("anything pizza");
    const kept = item!.value.texts as string[];
    for (const word of vocabulary) {
      const [found] = await search(word);
      const best = kept.some((text) => text === word)
        ? 1
        : kept.some((text) => text.includes(word))
          ? Math.SQRT1_2
          : 0;
      expect(found!.score, `${word} in ${kept}`).toBeCloseTo(best, 5);
    }
  });

  it("answers plain searches without asking the embedding function", async () => {
    const { put, search } = await openStore(embed);
    await put("k", { text: "pizza" });
    const [item] = await search("");
    expect(item).toMatchObject({ key: "k" });
    expect(item).not.toHaveProperty("score");
  });

  it("says what is wrong with an embedding function", async () => {
    const short = await openStore(async (texts) => texts.map(() => [1]));
    await expect(short.put("k", { text: "x" })).rejects.toMatchObject({
      code: "store.embedding_failed",
      message: expect.stringContaining("dims is 4"),
    });
    const failing = await openStore(async () => {
      throw new Error("no route to the model");
    });
    await expect(failing.search("x")).rejects.toMatchObject({
      kind: "bad_gateway",
      message: expect.stringContaining("no route to the model"),
    });
  });
});
