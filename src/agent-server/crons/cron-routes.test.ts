import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import {
  createTestClock,
  createWorkspacesApp,
  type TestClock,
  type WorkspacesApp,
} from "../../../tests/support/workspaces-app.ts";
import { raw } from "../../platform/db/raw.ts";
import { newId } from "../../platform/ids.ts";
import { createLogger } from "../../platform/logger.ts";
import { resolveAssistantId } from "../assistants/assistant.ts";
import { DefaultAssistants } from "../assistants/default-assistants.ts";
import { createCrons } from "./crons.ts";

const graphIds = ["agent", "echo"];
const graphs = { has: (id: string) => graphIds.includes(id) };
const agentId = resolveAssistantId(graphs, "agent");

let testDatabase: TestDatabase;
let clock: TestClock;
let app: WorkspacesApp;
let client: Client;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  clock = createTestClock(new Date("2030-01-01T00:00:30Z"));
  const defaults = new DefaultAssistants(database, graphIds);
  const { routes } = createCrons({
    database,
    clock,
    logger: createLogger({ level: "silent" }),
    startRun: () => Promise.reject(new Error("nothing is started here")),
    resolveAssistant: async (workspaceId, id) => {
      await defaults.ensure(workspaceId);
      const { rows } = await raw<{ assistant_id: string }>`select assistant_id from assistants
        where workspace_id = ${workspaceId}
          and assistant_id = ${graphs.has(id) ? resolveAssistantId(graphs, id) : id}::uuid`.execute(
        database.sql,
      );
      return rows[0]?.assistant_id ?? null;
    },
  });
  app = await createWorkspacesApp({ routes, testDatabase });
  client = new Client({
    apiUrl: "http://127.0.0.1",
    apiKey: app.apiKey,
    callerOptions: {
      maxRetries: 0,
      fetch: (url: string, init: RequestInit) => app.fetch(new Request(url, init)),
    },
  });
});

afterAll(async () => {
  await app?.stop();
  await testDatabase?.drop();
});

beforeEach(async () => {
  await raw`truncate crons cascade`.execute(testDatabase.database.sql);
});

async function insertThread(workspaceId = app.workspaceId): Promise<string> {
  const threadId = newId();
  await raw`insert into threads (thread_id, workspace_id) values (${threadId}, ${workspaceId})`.execute(
    testDatabase.database.sql,
  );
  return threadId;
}

const create = (body: object) =>
  app.call("POST", "/runs/crons", { body: { assistant_id: "agent", schedule: "0 9 * * *", ...body } });

describe("the JavaScript client", () => {
  it("creates a cron that makes threads", async () => {
    const cron = await client.crons.create("agent", {
      schedule: "0 9 * * 1-5",
      timezone: "America/New_York",
      input: { messages: [{ role: "user", content: "good morning" }] },
      metadata: { team: "blue" },
      config: { configurable: { model_name: "offline" } },
      endTime: "2031-01-01T00:00:00",
      onRunCompleted: "keep",
    });
    expect(cron).toMatchObject({
      assistant_id: agentId,
      thread_id: null,
      schedule: "0 9 * * 1-5",
      timezone: "America/New_York",
      next_run_date: "2030-01-01T14:00:00.000Z",
      end_time: "2031-01-01T00:00:00.000Z",
      on_run_completed: "keep",
      enabled: true,
      metadata: { team: "blue" },
      payload: {
        assistant_id: agentId,
        input: { messages: [{ role: "user", content: "good morning" }] },
        metadata: { team: "blue" },
        config: { configurable: { model_name: "offline" } },
      },
    });
    expect(cron.user_id).toBeTypeOf("string");
    expect((await app.call("GET", `/runs/crons/${cron.cron_id}`)).body).toEqual(cron);
  });

  it("creates one for a thread, changes, finds, counts and deletes it", async () => {
    const threadId = await insertThread();
    const cron = await client.crons.createForThread(threadId, agentId, {
      schedule: "*/5 * * * *",
      multitaskStrategy: "reject",
      input: { n: 1 },
    });
    expect(cron).toMatchObject({ thread_id: threadId, next_run_date: "2030-01-01T00:05:00.000Z" });
    expect(cron.payload).toMatchObject({ multitask_strategy: "reject" });
    await client.crons.create("echo", { schedule: "@hourly", metadata: { team: "red", n: 1 } });

    const changed = await client.crons.update(cron.cron_id, { schedule: "30 * * * *", input: { n: 2 } });
    expect(changed).toMatchObject({
      next_run_date: "2030-01-01T00:30:00.000Z",
      payload: { input: { n: 2 }, multitask_strategy: "reject", assistant_id: agentId },
    });

    expect(await client.crons.search({ threadId })).toEqual([changed]);
    expect(await client.crons.search({ assistantId: "echo" })).toMatchObject([{ schedule: "@hourly" }]);
    expect(await client.crons.search({ metadata: { team: "red" } })).toHaveLength(1);
    expect(await client.crons.search({ sortBy: "next_run_date", sortOrder: "asc" })).toMatchObject([
      { cron_id: cron.cron_id },
      { schedule: "@hourly" },
    ]);
    const [selected] = await client.crons.search({ threadId, select: ["schedule", "now"] });
    expect(selected).toEqual({ schedule: "30 * * * *", now: clock.now().toISOString() });
    expect(await client.crons.count()).toBe(2);
    expect(await client.crons.count({ assistantId: newId() })).toBe(0);

    await client.crons.delete(cron.cron_id);
    expect(await client.crons.count({ threadId })).toBe(0);
    await expect(client.crons.delete(cron.cron_id)).rejects.toThrow(/404/);
  });
});

describe("PATCH /runs/crons/{cron_id}", () => {
  it("pauses and resumes, and clears what null clears", async () => {
    const { body } = await create({ timezone: "Asia/Tokyo", end_time: "2030-01-02T00:00:00Z" });
    const path = `/runs/crons/${(body as { cron_id: string }).cron_id}`;
    const patch = async (change: object) => (await app.call("PATCH", path, { body: change })).body;
    expect(await patch({ enabled: false })).toMatchObject({ enabled: false, next_run_date: null });
    expect(await patch({ enabled: true })).toMatchObject({ next_run_date: "2030-01-02T00:00:00.000Z" });
    expect(await patch({ end_time: "2030-01-01T12:00:00Z" })).toMatchObject({ next_run_date: null });
    expect(await patch({ end_time: null, timezone: null })).toMatchObject({
      end_time: null,
      timezone: null,
      next_run_date: "2030-01-01T09:00:00.000Z",
    });
    expect(await patch({ metadata: { a: 1 } })).toMatchObject({
      metadata: { a: 1 },
      payload: { metadata: { a: 1 } },
      next_run_date: "2030-01-01T09:00:00.000Z",
    });
  });
});

describe("422", () => {
  it.each([
    [{ schedule: "whenever" }, "schedule"],
    [{ schedule: "0 0 31 2 *" }, "schedule"],
    [{ schedule: "99 * * * *" }, "schedule"],
    [{ timezone: "Mars/Olympus" }, "timezone"],
    [{ end_time: "soon" }, "end_time"],
    [{ end_time: "2029-01-01T00:00:00Z" }, "end_time"],
    [{ on_run_completed: "archive" }, "on_run_completed"],
    [{ multitask_strategy: "queue" }, "multitask_strategy"],
    [{ assistant_id: undefined }, "assistant_id"],
  ])("POST with %j names the field", async (change, field) => {
    const answer = await create(change);
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ detail: [{ loc: ["body", field] }] });
  });

  it("PATCH too, and leaves the cron as it was", async () => {
    const { body } = await create({});
    const path = `/runs/crons/${(body as { cron_id: string }).cron_id}`;
    expect((await app.call("PATCH", path, { body: { timezone: "Nowhere" } })).body).toMatchObject({
      detail: [{ loc: ["body", "timezone"] }],
    });
    expect((await app.call("GET", path)).body).toEqual(body);
  });
});

describe("404", () => {
  it("for an assistant, a thread or a cron the workspace does not have", async () => {
    const elsewhere = await insertThread(newId());
    const body = { assistant_id: "agent", schedule: "* * * * *" };
    expect((await create({ assistant_id: newId() })).status).toBe(404);
    expect((await app.call("POST", `/threads/${newId()}/runs/crons`, { body })).status).toBe(404);
    expect((await app.call("POST", `/threads/${elsewhere}/runs/crons`, { body })).status).toBe(404);
    expect((await app.call("GET", `/runs/crons/${newId()}`)).status).toBe(404);
    expect((await app.call("PATCH", `/runs/crons/${newId()}`, { body: {} })).status).toBe(404);
  });

  it("for a cron of another workspace, which searches do not show either", async () => {
    const { body } = await create({});
    const { cron_id } = body as { cron_id: string };
    const other = newId();
    const { sql } = testDatabase.database;
    await raw`insert into assistants (workspace_id, assistant_id, graph_id, name)
      values (${other}, ${agentId}, 'agent', 'agent')`.execute(sql);
    await raw`update crons set workspace_id = ${other} where cron_id = ${cron_id}`.execute(sql);
    const path = `/runs/crons/${cron_id}`;
    for (const method of ["GET", "PATCH", "DELETE"]) {
      const answer = await app.call(method, path, method === "PATCH" ? { body: { enabled: false } } : {});
      expect(answer.status, method).toBe(404);
    }
    expect((await app.call("POST", "/runs/crons/search", { body: {} })).body).toEqual([]);
    expect((await app.call("POST", "/runs/crons/count", { body: {} })).body).toBe(0);
  });
});

describe("POST /runs/crons/search", () => {
  it("tells how many there are and where the next page begins", async () => {
    for (let n = 0; n < 3; n += 1) await create({ enabled: n > 0 });
    const page = await app.call("POST", "/runs/crons/search", { body: { limit: 2 } });
    expect(page.body).toHaveLength(2);
    expect(page.headers.get("x-pagination-total")).toBe("3");
    expect(page.headers.get("x-pagination-next")).toBe("2");
    const last = await app.call("POST", "/runs/crons/search", { body: { limit: 2, offset: 2 } });
    expect(last.body).toHaveLength(1);
    expect(last.headers.get("x-pagination-next")).toBeNull();
    expect((await app.call("POST", "/runs/crons/search", { body: { enabled: true } })).body).toHaveLength(2);
  });
});
