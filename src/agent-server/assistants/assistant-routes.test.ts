import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestApp, type TestApp } from "../../../tests/support/app.ts";
import { defaultAssistantId } from "./assistant.ts";
import type { AssistantView } from "./assistant-schemas.ts";

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(() => app?.stop());

async function create(body: Record<string, unknown> = {}): Promise<AssistantView> {
  const answer = await app.call<AssistantView>("POST", "/assistants", {
    body: { graph_id: "echo", ...body },
  });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

describe("200", () => {
  test("every graph has its default assistant, with an empty configuration", async () => {
    const { body } = await app.call<AssistantView[]>("POST", "/assistants/search", {
      body: { metadata: { created_by: "system" }, sort_by: "name", sort_order: "asc" },
    });
    expect(body.map((each) => [each.name, each.assistant_id, each.config, each.version])).toEqual(
      ["agent", "approval", "echo"].map((name) => [name, defaultAssistantId(name), {}, 1]),
    );
  });

  test("create fills in what was left out", async () => {
    const made = await create();
    expect(made).toMatchObject({
      graph_id: "echo",
      config: {},
      context: {},
      metadata: {},
      name: "Untitled",
      description: null,
      version: 1,
    });
    expect((await app.call("GET", `/assistants/${made.assistant_id}`)).body).toEqual(made);
  });

  test("create keeps all it is given, also what configurable holds", async () => {
    const given = {
      assistant_id: randomUUID(),
      config: {
        tags: ["a"],
        recursion_limit: 7,
        configurable: { model_name: "offline" },
        own: { deep: [1] },
      },
      context: { tone: "dry" },
      metadata: { owner: "ada" },
      name: "Dry wit",
      description: "Answers dryly.",
    };
    expect(await create(given)).toMatchObject(given);
  });

  test("an existing one is answered with if_exists do_nothing, unchanged", async () => {
    const made = await create({ name: "first" });
    const again = await create({
      assistant_id: made.assistant_id,
      name: "second",
      if_exists: "do_nothing",
    });
    expect(again).toEqual(made);
  });

  test("a graph id stands for its default assistant everywhere", async () => {
    const byGraph = await app.call<AssistantView>("GET", "/assistants/echo");
    const byId = await app.call<AssistantView>("GET", `/assistants/${defaultAssistantId("echo")}`);
    expect(byGraph.body).toEqual(byId.body);
    expect((await app.call("GET", "/assistants/echo/schemas")).status).toBe(200);
    expect((await app.call("POST", "/assistants/echo/versions")).status).toBe(200);
  });

  test("patch merges metadata, keeps what is left out, and makes the next version", async () => {
    const made = await create({
      metadata: { a: 1, b: { c: 2 } },
      config: { configurable: { x: 1 } },
      description: "before",
    });
    const path = `/assistants/${made.assistant_id}`;
    const { body } = await app.call<AssistantView>("PATCH", path, {
      body: { metadata: { b: { d: 3 } }, name: "renamed", graph_id: "agent" },
    });
    expect(body).toMatchObject({
      metadata: { a: 1, b: { d: 3 } },
      config: { configurable: { x: 1 } },
      description: "before",
      name: "renamed",
      graph_id: "agent",
      version: 2,
    });
    const cleared = await app.call<AssistantView>("PATCH", path, { body: { description: null } });
    expect(cleared.body).toMatchObject({ description: null, version: 3 });
  });

  test("latest brings everything of a version back, and the next patch goes past the highest", async () => {
    const first = await create({
      config: { configurable: { x: 1 } },
      context: { y: 1 },
      metadata: { z: 1 },
      name: "one",
      description: "first",
    });
    const path = `/assistants/${first.assistant_id}`;
    await app.call("PATCH", path, {
      body: {
        graph_id: "agent",
        config: {},
        context: {},
        metadata: { z: 2 },
        name: "two",
        description: "second",
      },
    });
    const restored = await app.call<AssistantView>("POST", `${path}/latest`, { body: { version: 1 } });
    const { updated_at: _, ...wanted } = first;
    expect(restored.body).toMatchObject(wanted);
    expect((await app.call<AssistantView>("PATCH", path, { body: {} })).body.version).toBe(3);

    const versions = await app.call<AssistantView[]>("POST", `${path}/versions`);
    expect(versions.body.map((each) => [each.version, each.name, each.graph_id])).toEqual([
      [3, "one", "echo"],
      [2, "two", "agent"],
      [1, "one", "echo"],
    ]);
    expect(versions.body[0]).not.toHaveProperty("updated_at");
    const filtered = await app.call<AssistantView[]>("POST", `${path}/versions`, {
      body: { metadata: { z: 1 }, limit: 1, offset: 1 },
    });
    expect(filtered.body.map((each) => each.version)).toEqual([1]);
  });

  test("patches at once each get a version of their own", async () => {
    const made = await create();
    const path = `/assistants/${made.assistant_id}`;
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        app.call<AssistantView>("PATCH", path, { body: { name: `n${index}` } }),
      ),
    );
    const versions = answers.map((each) => each.body.version).sort((a, b) => a - b);
    expect(versions).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("search filters, sorts, pages and selects; count agrees", async () => {
    const group = randomUUID();
    for (const name of ["Beta 100%", "alpha", "Gamma_x"]) {
      await create({
        name,
        metadata: { group, nested: { name } },
        graph_id: name === "alpha" ? "agent" : "echo",
      });
    }
    const search = (body: Record<string, unknown>) =>
      app.call<AssistantView[]>("POST", "/assistants/search", { body: { metadata: { group }, ...body } });
    const names = async (body: Record<string, unknown>) => (await search(body)).body.map((each) => each.name);

    expect(await names({})).toEqual(["Gamma_x", "alpha", "Beta 100%"]);
    expect(await names({ sort_by: "created_at", sort_order: "asc" })).toEqual([
      "Beta 100%",
      "alpha",
      "Gamma_x",
    ]);
    expect(await names({ name: "ALPH" })).toEqual(["alpha"]);
    expect(await names({ name: "%" })).toEqual(["Beta 100%"]);
    expect(await names({ name: "_" })).toEqual(["Gamma_x"]);
    expect(await names({ graph_id: "agent" })).toEqual(["alpha"]);
    expect(await names({ metadata: { group, nested: { name: "alpha" } } })).toEqual(["alpha"]);

    const page = await search({ limit: 2 });
    expect(page.headers.get("x-pagination-total")).toBe("3");
    expect(page.headers.get("x-pagination-next")).toBe("2");
    const last = await search({ limit: 2, offset: 2 });
    expect(last.body).toHaveLength(1);
    expect(last.headers.get("x-pagination-next")).toBeNull();
    expect((await search({ limit: 1, select: ["name", "version"] })).body).toEqual([
      { name: "Gamma_x", version: 1 },
    ]);

    const count = (body: Record<string, unknown>) => app.call("POST", "/assistants/count", { body });
    expect((await count({ metadata: { group } })).body).toBe(3);
    expect((await count({ metadata: { group }, name: "a", graph_id: "echo" })).body).toBe(2);
    expect((await count({ metadata: { group: randomUUID() } })).body).toBe(0);
  });

  test("the graph, alone and with its subgraphs opened", async () => {
    type Drawing = { nodes: { id: string }[]; edges: { source: string; target: string }[] };
    const { body } = await app.call<Drawing>("GET", "/assistants/approval/graph");
    expect(body.nodes.map((node) => node.id)).toEqual(["__start__", "propose", "approve", "act", "__end__"]);
    expect(body.edges).toContainEqual({ source: "propose", target: "approve", conditional: false });
    const plain = await app.call<Drawing>("GET", "/assistants/agent/graph?xray=false");
    for (const xray of ["true", "1"]) {
      const opened = await app.call<Drawing>("GET", `/assistants/agent/graph?xray=${xray}`);
      expect(opened.status).toBe(200);
      expect(opened.body.nodes.length).toBeGreaterThanOrEqual(plain.body.nodes.length);
    }
  });

  test("schemas name the graph and describe its messages", async () => {
    const { body } = await app.call<Record<string, unknown>>("GET", "/assistants/approval/schemas");
    expect(body.graph_id).toBe("approval");
    expect(body.input_schema).toMatchObject({
      type: "object",
      properties: { messages: { type: "array" }, action: { type: "string" } },
    });
  });

  test("subgraphs by namespace, with all the schema keys", async () => {
    const { body } = await app.call<Record<string, object>>(
      "GET",
      "/assistants/agent/subgraphs?recurse=true",
    );
    const [namespace] = Object.keys(body);
    expect(namespace).toBeDefined();
    expect(Object.keys(body[namespace!]!)).toEqual([
      "input_schema",
      "output_schema",
      "state_schema",
      "config_schema",
      "context_schema",
    ]);
    const path = `/assistants/agent/subgraphs/${encodeURIComponent(namespace!)}`;
    expect((await app.call<object>("GET", path)).body).toHaveProperty([namespace!]);
    expect((await app.call("GET", "/assistants/echo/subgraphs")).body).toEqual({});
  });

  test("delete takes versions and runs along, leaves threads", async () => {
    const { assistant_id } = await create();
    const thread = await app.call<{ thread_id: string }>("POST", "/threads");
    const runs = `/threads/${thread.body.thread_id}/runs`;
    const input = { messages: [{ role: "user", content: "stay" }] };
    await app.call("POST", `${runs}/wait`, { body: { assistant_id, input } });
    expect((await app.call("DELETE", `/assistants/${assistant_id}`)).body).toEqual([assistant_id]);
    expect((await app.call("GET", `/assistants/${assistant_id}`)).status).toBe(404);
    expect((await app.call("POST", `/assistants/${assistant_id}/versions`)).status).toBe(404);
    expect((await app.call("GET", runs)).body).toEqual([]);
    const state = await app.call<{ values: { messages: unknown[] } }>(
      "GET",
      `/threads/${thread.body.thread_id}/state`,
    );
    expect(state.body.values.messages).toHaveLength(2);
  });

  test("delete with delete_threads takes its threads along, and no others", async () => {
    const { assistant_id } = await create();
    const input = { messages: [{ role: "user", content: "go" }] };
    const [own, other] = await Promise.all(
      [assistant_id, "echo"].map(async (id) => {
        const { body } = await app.call<{ thread_id: string }>("POST", "/threads");
        await app.call("POST", `/threads/${body.thread_id}/runs/wait`, { body: { assistant_id: id, input } });
        return body.thread_id;
      }),
    );
    expect((await app.call("DELETE", `/assistants/${assistant_id}?delete_threads=true`)).status).toBe(200);
    expect((await app.call("GET", `/threads/${own}`)).status).toBe(404);
    expect((await app.call("GET", `/threads/${other}`)).status).toBe(200);
  });

  test("delete stops a run that is waiting its turn", async () => {
    const { assistant_id } = await create();
    const thread = await app.call<{ thread_id: string }>("POST", "/threads");
    const runs = `/threads/${thread.body.thread_id}/runs`;
    await app.call("POST", runs, { body: { assistant_id, input: {}, after_seconds: 3600 } });
    expect((await app.call("DELETE", `/assistants/${assistant_id}`)).status).toBe(200);
    expect((await app.call("GET", runs)).body).toEqual([]);
    const after = await app.call<{ status: string }>("GET", `/threads/${thread.body.thread_id}`);
    expect(after.body.status).toBe("idle");
  });
});

describe("404", () => {
  test.each([
    ["GET", ""],
    ["PATCH", ""],
    ["DELETE", ""],
    ["GET", "/graph"],
    ["GET", "/schemas"],
    ["GET", "/subgraphs"],
    ["POST", "/versions"],
  ])("%s of an unknown assistant%s", async (method, rest) => {
    for (const id of [randomUUID(), "no-such-graph"]) {
      const options = method === "PATCH" ? { body: {} } : {};
      const answer = await app.call<{ detail: string }>(method, `/assistants/${id}${rest}`, options);
      expect(answer.status).toBe(404);
      expect(answer.body.detail).toContain(id);
    }
  });

  test("an unknown graph, when creating and when changing", async () => {
    const body = { graph_id: "nope" };
    const made = await app.call<{ detail: string }>("POST", "/assistants", { body });
    expect(made.status).toBe(404);
    expect(made.body.detail).toContain("echo");
    expect((await app.call("PATCH", "/assistants/echo", { body })).status).toBe(404);
  });

  test("an unknown version", async () => {
    const answer = await app.call("POST", "/assistants/echo/latest", { body: { version: 99 } });
    expect(answer.status).toBe(404);
  });
});

describe("409", () => {
  test("an id that is taken", async () => {
    const { assistant_id } = await create();
    const answer = await app.call("POST", "/assistants", { body: { graph_id: "echo", assistant_id } });
    expect(answer.status).toBe(409);
    const taken = { graph_id: "echo", assistant_id: defaultAssistantId("agent") };
    expect((await app.call("POST", "/assistants", { body: taken })).status).toBe(409);
  });

  test("a default assistant cannot be deleted", async () => {
    const answer = await app.call<{ detail: string }>("DELETE", "/assistants/echo");
    expect(answer.status).toBe(409);
    expect(answer.body.detail).toContain('default assistant of graph "echo"');
    expect((await app.call("GET", "/assistants/echo")).status).toBe(200);
  });
});

describe("422", () => {
  test.each([
    ["no graph", { name: "x" }],
    ["an id that is no uuid", { graph_id: "echo", assistant_id: "x" }],
    ["a config that is no object", { graph_id: "echo", config: [] }],
    ["a recursion limit below one", { graph_id: "echo", config: { recursion_limit: 0 } }],
    ["a name with a NUL", { graph_id: "echo", name: "a\u0000b" }],
    ["metadata with a NUL", { graph_id: "echo", metadata: { note: "a\u0000b" } }],
    ["metadata with half a surrogate pair", { graph_id: "echo", metadata: { note: "a\ud800b" } }],
    ["context with half a surrogate pair", { graph_id: "echo", context: { note: "\udc00" } }],
  ])("create with %s", async (_, body) => {
    const answer = await app.call<{ detail: { msg: string }[] }>("POST", "/assistants", { body });
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0]!.msg).not.toBe("");
  });

  test.each([
    ["search", { limit: 0 }],
    ["search", { limit: 1001 }],
    ["search", { offset: -1 }],
    ["search", { sort_by: "secret" }],
    ["search", { select: ["workspace_id"] }],
    ["search", { metadata: { note: "\u0000" } }],
    ["search", { name: "\u0000" }],
    ["count", { metadata: [] }],
    ["echo/latest", {}],
    ["echo/latest", { version: 2 ** 31 }],
    ["echo/versions", { limit: "many" }],
  ])("%s with %j", async (path, body) => {
    expect((await app.call("POST", `/assistants/${path}`, { body })).status).toBe(422);
  });

  test("an xray that is neither a flag nor a number", async () => {
    expect((await app.call("GET", "/assistants/echo/graph?xray=deep")).status).toBe(422);
  });
});
