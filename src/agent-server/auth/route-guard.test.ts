import { Auth } from "@langchain/langgraph-sdk/auth";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { builtinGraphs } from "../../builtin-graphs/builtin-graphs.ts";
import { startArea, stopArea } from "../../platform/areas/area.ts";
import type { Authenticator } from "../../platform/http/access/caller.ts";
import { createHttpApp, type HttpApp } from "../../platform/http/pipeline/http-app.ts";
import { createLogger } from "../../platform/logger.ts";
import { Metrics } from "../../platform/metrics.ts";
import { type AgentServer, createAgentServer } from "../agent-server.ts";
import { GraphRegistry } from "../graphs/graph-registry.ts";
import { loadServerGraphs } from "../graphs/javascript/server-graphs.ts";
import { AgentGuard } from "./agent-guard.ts";
import { ProjectAuthenticator } from "./project-authenticator.ts";
import { SingleWorkspace } from "./single-workspace.ts";

type Owned = { metadata?: Record<string, unknown> };

/** Everything belongs to its creator; the store is divided by user. */
const auth = new Auth()
  .authenticate((request: Request) => request.headers.get("x-user") ?? "")
  .on(["threads", "assistants", "crons"], ({ value, user }) => {
    (value as Owned).metadata = { ...(value as Owned).metadata, owner: user.identity };
    return { owner: user.identity };
  })
  .on(
    ["store:put", "store:get", "store:search", "store:delete", "store:list_namespaces"],
    ({ value, user }) => {
      const asked = value as { namespace?: string[]; value?: { owner?: string } };
      if (asked.namespace?.[0] === "shared") return { owner: user.identity } as never;
      const byPlace: Record<string, Record<string, string | { $contains: string }>> = {
        rooms: { namespace: { $contains: user.identity } },
        keys: { key: user.identity },
      };
      const filter = byPlace[asked.namespace?.[0] ?? ""];
      if (filter) return filter as { key: string };
      asked.namespace = [user.identity, ...(asked.namespace ?? [])];
      return true;
    },
  );

const logger = createLogger({ level: "silent" });
let database: TestDatabase;
let server: AgentServer;
let http: HttpApp;

beforeAll(async () => {
  database = await createTestDatabase({ poolSize: 4 });
  const { authenticate, callbacks = {} } = auth["~handlerCache"];
  const loaded = { authenticate, callbacks, disableStudioAuth: true } as never as ConstructorParameters<
    typeof AgentGuard
  >[0] &
    ConstructorParameters<typeof ProjectAuthenticator>[0]["auth"];
  const builtin = await loadServerGraphs(builtinGraphs({ environment: {} }));
  server = createAgentServer({
    database: database.database,
    logger,
    graphs: new GraphRegistry(builtin.graphs),
    version: "test",
    runConcurrency: 10,
    runLeaseMs: 5_000,
    runTimeoutMs: 60_000,
    publicUrl: () => "http://127.0.0.1",
    project: { guard: new AgentGuard(loaded, logger) },
  });
  await startArea(server);
  const own = new SingleWorkspace({
    workspaceId: "00000000-0000-4000-8000-000000000000",
    apiKey: undefined,
    checkTenant: false,
  });
  const authenticator: Authenticator = new ProjectAuthenticator({
    auth: loaded,
    logger,
    own,
    ownRequired: false,
  });
  http = createHttpApp({
    routes: server.routes,
    authenticator,
    agentAuthRequired: false,
    logger,
    metrics: new Metrics({ processMetrics: false }),
    corsOrigins: [],
    documents: [],
    validateResponses: true,
  });
});

afterAll(async () => {
  await stopArea(server, { graceMs: 1_000 });
  await database.drop();
});

async function call(user: string, method: string, path: string, body?: unknown) {
  const response = await http.fetch(
    new Request(`http://127.0.0.1${path}`, {
      method,
      headers: { "x-user": user, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
}

test("routes that ask nothing are those that ask where they find out what they touch", () => {
  // Runs ask where they are made; the others name what they touch outside their path, or touch nothing that is guarded.
  const silent = server.routes.filter(({ spec }) => spec.guard === null).map(({ spec }) => spec.operationId);
  expect(silent.sort()).toEqual([
    "batchStatelessRuns",
    "createRun",
    "createStatelessRun",
    "deleteMcp",
    "getAgentCard",
    "getUiFile",
    "loadUiComponent",
    "postA2a",
    "postMcp",
    "streamRun",
    "streamStatelessRun",
    "waitRun",
    "waitStatelessRun",
  ]);
});

test("without an identity nothing answers", async () => {
  expect((await call("", "POST", "/threads/search", {})).status).toBe(401);
});

test("assistants belong to their maker", async () => {
  const made = await call("ada", "POST", "/assistants", { graph_id: "echo" });
  expect(made).toMatchObject({ status: 200, body: { metadata: { owner: "ada" } } });
  const path = `/assistants/${made.body.assistant_id}`;
  expect((await call("bob", "GET", path)).status).toBe(404);
  expect((await call("bob", "PATCH", path, { name: "mine" })).status).toBe(404);
  expect((await call("bob", "POST", `${path}/versions`, {})).status).toBe(404);
  expect((await call("bob", "GET", `${path}/graph`)).status).toBe(404);
  expect((await call("bob", "DELETE", path)).status).toBe(404);
  expect((await call("bob", "POST", "/assistants/count", {})).body).toBe(0);
  expect((await call("ada", "POST", "/assistants/search", {})).body).toHaveLength(1);
});

describe("a run of somebody else's thread", () => {
  const never = "00000000-0000-4000-8000-00000000dead";
  const pathOf = (run: { thread_id: string; run_id: string }) =>
    `/threads/${run.thread_id}/runs/${run.run_id}`;
  const runOfAda = async (): Promise<{ thread_id: string; run_id: string }> => {
    const thread = await call("ada", "POST", "/threads", {});
    const body = { assistant_id: "echo", input: { messages: [] } };
    return (await call("ada", "POST", `/threads/${thread.body.thread_id}/runs`, body)).body;
  };

  test.each([
    ["GET", ""],
    ["GET", "/join"],
    ["DELETE", ""],
    ["POST", "/cancel"],
  ])("is answered like one that never was: %s %s", async (method, end) => {
    const run = await runOfAda();
    const hidden = await call("bob", method, pathOf(run) + end);
    expect(hidden).toMatchObject({ status: 404, body: { detail: `Run with ID ${run.run_id} not found` } });
    const missing = await call("bob", method, pathOf({ ...run, thread_id: never }) + end);
    expect(missing).toEqual(hidden);
  });

  test("its stream begins and says so, as that of one that never was", async () => {
    const run = await runOfAda();
    const joined = async (user: string, path: string) => {
      const response = await http.fetch(
        new Request(`http://127.0.0.1${path}/stream`, { headers: { "x-user": user } }),
      );
      return {
        status: response.status,
        type: response.headers.get("content-type"),
        text: await response.text(),
      };
    };
    const hidden = await joined("bob", pathOf(run));
    expect(hidden).toMatchObject({ status: 200, type: expect.stringContaining("text/event-stream") });
    const message = `404: Run with ID ${run.run_id} not found`;
    expect(hidden.text).toBe(`event: error\ndata: ${JSON.stringify({ error: "NotFound", message })}\n\n`);
    expect(await joined("bob", pathOf({ ...run, thread_id: never }))).toEqual(hidden);
    expect((await joined("ada", pathOf(run))).text).not.toContain("404");
  });
});

describe("crons", () => {
  const cron = { assistant_id: "echo", schedule: "0 0 1 1 *", input: {} };

  test("belong to their maker", async () => {
    const made = await call("ada", "POST", "/runs/crons", cron);
    expect(made).toMatchObject({ status: 200, body: { metadata: { owner: "ada" } } });
    const path = `/runs/crons/${made.body.cron_id}`;
    expect((await call("bob", "GET", path)).status).toBe(404);
    expect((await call("bob", "PATCH", path, { enabled: false })).status).toBe(404);
    expect((await call("bob", "DELETE", path)).status).toBe(404);
    expect((await call("bob", "POST", "/runs/crons/search", {})).body).toEqual([]);
    expect((await call("bob", "POST", "/runs/crons/count", {})).body).toBe(0);
    expect((await call("ada", "POST", "/runs/crons/count", {})).body).toBe(1);
    expect((await call("ada", "GET", path)).status).toBe(200);
  });

  test("refuse a webhook that could never arrive", async () => {
    expect((await call("ada", "POST", "/runs/crons", { ...cron, webhook: "/relative" })).status).toBe(422);
  });

  test("may not be put on somebody else's thread", async () => {
    const thread = await call("ada", "POST", "/threads", {});
    const path = `/threads/${thread.body.thread_id}/runs/crons`;
    expect((await call("bob", "POST", path, cron)).status).toBe(404);
    expect((await call("ada", "POST", path, cron)).status).toBe(200);
  });
});

describe("the store", () => {
  const item = (namespace: string[], value: object) => ({ namespace, key: "k", value });

  test("is where the handler moves it", async () => {
    await call("ada", "PUT", "/store/items", item(["notes"], { text: "of ada" }));
    const read = (user: string) => call(user, "GET", "/store/items?namespace=notes&key=k");
    expect((await read("ada")).body).toMatchObject({
      namespace: ["ada", "notes"],
      value: { text: "of ada" },
    });
    expect((await read("bob")).body).toBeNull();
    const search = { namespace_prefix: ["notes"] };
    expect((await call("ada", "POST", "/store/items/search", search)).body.items).toHaveLength(1);
    expect((await call("bob", "POST", "/store/items/search", search)).body.items).toEqual([]);
    expect((await call("ada", "POST", "/store/namespaces", {})).body.namespaces).toEqual([["ada", "notes"]]);
    expect((await call("bob", "POST", "/store/namespaces", {})).body.namespaces).toEqual([]);
    await call("bob", "DELETE", "/store/items", { namespace: ["notes"], key: "k" });
    expect((await read("ada")).body).not.toBeNull();
  });

  test("hides what a filter on the value does not admit", async () => {
    await call("ada", "PUT", "/store/items", item(["shared"], { owner: "ada" }));
    const read = (user: string) => call(user, "GET", "/store/items?namespace=shared&key=k");
    expect((await read("ada")).status).toBe(200);
    expect((await read("bob")).status).toBe(404);
    const search = { namespace_prefix: ["shared"] };
    expect((await call("bob", "POST", "/store/items/search", search)).body.items).toEqual([]);
    expect((await call("ada", "POST", "/store/items/search", search)).body.items).toHaveLength(1);
    expect((await call("bob", "PUT", "/store/items", item(["shared"], { owner: "bob" }))).status).toBe(404);
    expect((await call("bob", "DELETE", "/store/items", { namespace: ["shared"], key: "k" })).status).toBe(
      404,
    );
    const list = { prefix: ["shared"] };
    expect((await call("bob", "POST", "/store/namespaces", list)).body.namespaces).toEqual([]);
    expect((await call("ada", "POST", "/store/namespaces", list)).body.namespaces).toEqual([["shared"]]);
  });
});

describe("a filter on an item's place", () => {
  const put = (user: string, namespace: string[], key: string) =>
    call(user, "PUT", "/store/items", { namespace, key, value: { text: "x" } });

  test("admits the namespace it names, and nothing is written outside it", async () => {
    expect((await put("ada", ["rooms", "ada"], "k")).status).toBe(204);
    const refused = await put("bob", ["rooms", "carol"], "k");
    expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining("not permitted")]);
    const read = (user: string) => call(user, "GET", "/store/items?namespace=rooms.ada&key=k");
    expect((await read("ada")).body).toMatchObject({ namespace: ["rooms", "ada"] });
    expect((await read("bob")).status).toBe(404);
    const search = { namespace_prefix: ["rooms"] };
    expect((await call("ada", "POST", "/store/items/search", search)).body.items).toHaveLength(1);
    expect((await call("bob", "POST", "/store/items/search", search)).body.items).toEqual([]);
    const list = { prefix: ["rooms"] };
    expect((await call("ada", "POST", "/store/namespaces", list)).body.namespaces).toEqual([
      ["rooms", "ada"],
    ]);
    expect((await call("bob", "POST", "/store/namespaces", list)).body.namespaces).toEqual([]);
  });

  test("admits the key it names", async () => {
    expect((await put("ada", ["keys"], "ada")).status).toBe(204);
    expect((await put("ada", ["keys"], "bob")).status).toBe(403);
    expect((await call("bob", "GET", "/store/items?namespace=keys&key=ada")).status).toBe(404);
  });

  test("also of a value that lacks what the filter asks for", async () => {
    const value = { namespace: ["shared"], key: "new", value: { text: "x" } };
    expect((await call("ada", "PUT", "/store/items", value)).status).toBe(403);
  });
});

test("cancelling many runs reaches only one's own", async () => {
  const thread = await call("ada", "POST", "/threads", {});
  const later = { assistant_id: "echo", input: {}, after_seconds: 600 };
  const run = await call("ada", "POST", `/threads/${thread.body.thread_id}/runs`, later);
  const path = `/threads/${thread.body.thread_id}/runs/${run.body.run_id}`;
  expect((await call("bob", "POST", "/runs/cancel", { status: "all" })).status).toBe(204);
  expect((await call("ada", "GET", path)).body.status).toBe("pending");
  expect((await call("ada", "POST", "/runs/cancel", { status: "all" })).status).toBe(204);
  expect((await call("ada", "GET", path)).body.status).toBe("interrupted");
});
