import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createTestDatabase, type TestDatabase } from "../../../../tests/support/database.ts";
import type { Clock } from "../../clock.ts";
import { raw } from "../../db/raw.ts";
import { SecretBox } from "../../encryption/secret-box.ts";
import { AppError } from "../../errors.ts";
import { createLogger } from "../../logger.ts";
import { Metrics } from "../../metrics.ts";
import { createHttpApp } from "../pipeline/http-app.ts";
import { json, type Route } from "../route.ts";
import { DatabaseIdempotency, deleteExpiredKeys } from "./idempotency-store.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

/** An app with one idempotent route whose n-th call answers with n. */
function build(handle?: (calls: number) => Response | Promise<Response>) {
  let now = new Date("2026-01-01T00:00:00Z");
  const clock: Clock = { now: () => now };
  const box = new SecretBox({ currentKey: "a key of the test, long enough" });
  const store = new DatabaseIdempotency({ sql: db.database.sql, clock, secretBox: box });
  let calls = 0;
  const workspaceId = randomUUID();
  const userId = randomUUID();
  const make: Route = {
    spec: {
      method: "post",
      path: "/things/{id}",
      operationId: "make",
      summary: "",
      tag: "t",
      access: { kind: "workspace", role: "viewer", scope: "read" },
      body: z.looseObject({}),
      idempotent: true,
      responses: { 201: { description: "made" } },
    },
    handle: () => {
      calls += 1;
      return handle
        ? handle(calls)
        : json(201, { calls, api_key: "shown-once" }, { location: `/things/${calls}` });
    },
  };
  const app = createHttpApp({
    routes: [make],
    authenticator: {
      authenticate: async (headers) => ({
        organizationId: randomUUID(),
        workspaceId: headers.get("x-tenant-id") ?? workspaceId,
        userId: headers.get("x-test-user") ?? userId,
        role: "admin",
        via: "api_key",
        scopes: null,
        mayUseAccounts: true,
        ...(headers.has("x-test-key") ? { apiKeyId: headers.get("x-test-key")! } : {}),
        ...(headers.has("x-test-session") ? { sessionId: headers.get("x-test-session")! } : {}),
      }),
      loopbackCaller: () => Promise.reject(new Error("unused")),
    },
    agentAuthRequired: true,
    logger: createLogger({ level: "silent" }),
    metrics: new Metrics({ processMetrics: false }),
    corsOrigins: [],
    documents: [],
    validateResponses: false,
    idempotency: store,
  });
  const send = (
    key: string | undefined,
    body: unknown = {},
    headers: Record<string, string> = {},
    id = "1",
  ) =>
    Promise.resolve(
      app.fetch(
        new Request(`http://localhost/things/${id}`, {
          method: "POST",
          body: JSON.stringify(body),
          headers: {
            "content-type": "application/json",
            ...(key === undefined ? {} : { "idempotency-key": key }),
            ...headers,
          },
        }),
      ),
    );
  return {
    send,
    calls: () => calls,
    advance: (ms: number) => {
      now = new Date(now.getTime() + ms);
    },
    now: () => now,
    store,
    workspaceId,
  };
}

describe("the same key", () => {
  it("does not show one user's answer to another", async () => {
    const app = build();
    await app.send("k");
    const other = await app.send("k", {}, { "x-test-user": randomUUID() });
    expect([other.status, app.calls()]).toEqual([422, 1]);
    expect(await other.text()).not.toContain("shown-once");
  });
  it("gives the same user's other credentials nothing of it", async () => {
    const app = build();
    const mine = { "x-test-key": randomUUID() };
    expect((await app.send("k", {}, mine)).status).toBe(201);
    const others: Record<string, string>[] = [
      { "x-test-key": randomUUID() },
      { "x-test-session": randomUUID() },
      {},
    ];
    for (const other of others) {
      const answer = await app.send("k", {}, other);
      expect([answer.status, app.calls()]).toEqual([422, 1]);
      expect(await answer.text()).not.toContain("shown-once");
    }
    const again = await app.send("k", {}, mine);
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
  });
  it("gives the first answer again", async () => {
    const app = build();
    const first = await app.send("k");
    const second = await app.send("k");
    expect([first.status, second.status, app.calls()]).toEqual([201, 201, 1]);
    expect(await second.json()).toEqual(await first.json());
    expect(second.headers.get("location")).toBe("/things/1");
    expect([first.headers.get("idempotency-replayed"), second.headers.get("idempotency-replayed")]).toEqual([
      null,
      "true",
    ]);
  });
  it("is refused with another body or path", async () => {
    const app = build();
    await app.send("k", { a: 1 });
    const other = await app.send("k", { a: 2 });
    expect(other.status).toBe(422);
    expect(await other.json()).toMatchObject({ detail: [{ loc: ["header", "idempotency-key"] }] });
    expect((await app.send("k", { a: 1 }, {}, "2")).status).toBe(422);
    expect(app.calls()).toBe(1);
  });
  it("means another request in another workspace", async () => {
    const app = build();
    await app.send("k");
    await app.send("k", {}, { "x-tenant-id": randomUUID() });
    expect(app.calls()).toBe(2);
  });
  it("runs once when sent many times at once", async () => {
    const leave = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const app = build(async (calls) => {
      entered.resolve();
      await leave.promise;
      return json(201, { calls });
    });
    const first = app.send("k");
    await entered.promise;
    const others = await Promise.all([app.send("k"), app.send("k"), app.send("k")]);
    for (const other of others) {
      expect([other.status, other.headers.get("retry-after")]).toEqual([409, "1"]);
    }
    leave.resolve();
    expect((await first).status).toBe(201);
    expect((await app.send("k")).status).toBe(201);
    expect(app.calls()).toBe(1);
  });
  it("is forgotten after a day", async () => {
    const app = build();
    await app.send("k");
    app.advance(24 * 3600 * 1000);
    await app.send("k", { other: true });
    expect(app.calls()).toBe(2);
  });
});

describe("answers", () => {
  it("are not kept when they say that something failed here", async () => {
    const app = build((calls) => {
      if (calls === 1) throw new Error("broken");
      if (calls === 2) throw new AppError({ code: "run.thread_busy", kind: "conflict", message: "busy" });
      return json(201, { calls });
    });
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await app.send("k")).status);
    expect([statuses, app.calls()]).toEqual([[500, 409, 201, 201], 3]);
  });
  it("are kept when they are final refusals", async () => {
    const app = build(() => {
      throw new AppError({ code: "request.invalid", kind: "unprocessable", message: "no" });
    });
    expect([(await app.send("k")).status, (await app.send("k")).status, app.calls()]).toEqual([422, 422, 1]);
  });
  it("lie sealed in the database", async () => {
    const app = build();
    await app.send("k");
    const { rows } = await raw<{ answer: string }>`
      select answer from idempotency_keys where workspace_id = ${app.workspaceId}`.execute(db.database.sql);
    expect(rows).toHaveLength(1);
    expect(rows[0]?.answer).not.toContain("shown-once");
  });
});

describe("a claim", () => {
  it("can be taken over when its owner is gone, who then keeps nothing", async () => {
    const app = build();
    const key = { workspaceId: app.workspaceId, operation: "make", key: "k", requestHash: "h" };
    const lost = await app.store.claim(key);
    expect(await app.store.claim(key)).toEqual({ state: "in_progress" });
    app.advance(2 * 60 * 1000);
    const taken = await app.store.claim(key);
    if (lost.state !== "claimed" || taken.state !== "claimed") throw new Error("expected two claims");
    const answer = { status: 201, headers: {}, body: "{}" };
    await expect(app.store.keep(key, lost.claimId, answer)).rejects.toMatchObject({
      code: "request.claim_lost",
    });
    await app.store.release(key, lost.claimId);
    await app.store.keep(key, taken.claimId, answer);
    expect(await app.store.claim(key)).toEqual({ state: "kept", answer });
  });
});

describe("keys", () => {
  it("must be short visible text", async () => {
    const app = build();
    expect((await app.send("x".repeat(256))).status).toBe(422);
    expect((await app.send("a b")).status).toBe(422);
    expect(app.calls()).toBe(0);
  });
  it("are optional", async () => {
    const app = build();
    await app.send(undefined);
    await app.send(undefined);
    expect(app.calls()).toBe(2);
  });
  it("are deleted after their day", async () => {
    const app = build();
    await app.send("k");
    expect(await deleteExpiredKeys(db.database.sql, new Date("2025-01-01T00:00:00Z"))).toBe(0);
    app.advance(25 * 3600 * 1000);
    expect(await deleteExpiredKeys(db.database.sql, app.now())).toBeGreaterThan(0);
    await app.send("k");
    expect(app.calls()).toBe(2);
  });
});
