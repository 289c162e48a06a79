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
