import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../../../tests/support/app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(() => app?.stop());

describe("422", () => {
  it.each([1e12, 1e18, 0, -1])("a thread that is to be kept for %d minutes", async (ttl) => {
    const asNumber = await app.call("POST", "/threads", { body: { ttl } });
    expect(asNumber.status).toBe(422);
    const asObject = await app.call("POST", "/threads", { body: { ttl: { ttl, strategy: "delete" } } });
    expect(asObject.status).toBe(422);
    const { body: thread } = await app.call<{ thread_id: string }>("POST", "/threads", { body: {} });
    const changed = await app.call("PATCH", `/threads/${thread.thread_id}`, { body: { ttl } });
    expect(changed.status).toBe(422);
  });
});

describe("200", () => {
  it("a thread that is to be kept for a hundred years", async () => {
    const answer = await app.call("POST", "/threads", { body: { ttl: 52_560_000 } });
    expect(answer.status).toBe(200);
  });
});

describe("threads that are searched for words", () => {
  const find = async (query: string, more: object = {}) => {
    const body = { query, sort_by: "updated_at", select: ["thread_id"], ...more };
    const { body: found } = await app.call<{ thread_id: string }[]>("POST", "/threads/search", { body });
    return found.map(({ thread_id }) => thread_id);
  };
  const say = async (content: string, metadata: object = {}): Promise<string> => {
    const made = await app.call<{ thread_id: string }>("POST", "/threads", { body: { metadata } });
    await app.call("POST", `/threads/${made.body.thread_id}/runs/wait`, {
      body: { assistant_id: "echo", input: { messages: [{ role: "user", content }] } },
    });
    return made.body.thread_id;
  };

  it("are found by what was said in them, newest first, and counted", async () => {
    const first = await say('The Jacquard loom: "100% punched cards"');
    const second = await say("A loom without cards");
    expect(await find("LOOM")).toEqual([second, first]);
    expect(await find("cards jacquard")).toEqual([first]);
    // What would mean something to the database or to JSON is only text.
    expect(await find('"100%')).toEqual([first]);
    expect(await find("l__m")).toEqual([]);
    expect(await find("loom", { sort_by: "created_at", sort_order: "asc" })).toEqual([first, second]);
    expect(await find("loom", { limit: 1, offset: 1 })).toEqual([first]);
    const { body: count } = await app.call<number>("POST", "/threads/count", { body: { query: "loom" } });
    expect(count).toBe(2);
  });

  it("also by words without three plain letters, and with a filter of their metadata", async () => {
    const first = await say("été à Lyon", { user: "ann" });
    expect(await find("été")).toEqual([first]);
    expect(await find("à Lyon", { metadata: { user: "ann" } })).toEqual([first]);
    expect(await find("à Lyon", { metadata: { user: "bob" } })).toEqual([]);
  });

  it("by the state they have now, as changed by hand and as copied", async () => {
    const thread = await say("velvet");
    await app.call("POST", `/threads/${thread}/state`, {
      body: { values: { messages: [{ role: "user", content: "and a bobbin" }] }, as_node: "echo" },
    });
    expect(await find("bobbin")).toEqual([thread]);
    const { body: copy } = await app.call<{ thread_id: string }>("POST", `/threads/${thread}/copy`);
    expect(new Set(await find("bobbin velvet"))).toEqual(new Set([thread, copy.thread_id]));
  });
});
