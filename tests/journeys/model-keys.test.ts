import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { createTestApp, type TestApp } from "../support/app.ts";
import { startOpenAiServer } from "../support/components/openai-server.ts";
import { waitUntil } from "../support/components/wait-until.ts";

const key = "sk-test-0123456789abcdefWXYZ";
let app: TestApp;
let provider: Awaited<ReturnType<typeof startOpenAiServer>>;
const before = process.env.OPENAI_BASE_URL;
beforeAll(async () => {
  provider = await startOpenAiServer("A real answer.");
  // The client of the provider reads it; an operator sets it for a gateway of their own.
  process.env.OPENAI_BASE_URL = `${provider.origin}/v1`;
  app = await createTestApp();
});
afterAll(async () => {
  if (before === undefined) delete process.env.OPENAI_BASE_URL;
  else process.env.OPENAI_BASE_URL = before;
  await app?.stop();
  await provider?.stop();
});

type Message = { type: string; content: string };
const ask = (model_name: string, headers: Record<string, string> = {}) =>
  app.call<{ messages?: Message[]; __error__?: { message: string } }>("POST", "/runs/wait", {
    body: {
      assistant_id: "agent",
      input: { messages: [{ role: "user", content: "Hello" }] },
      config: { configurable: { model_name } },
    },
    headers,
  });
const list = async (headers: Record<string, string> = {}) => {
  type Entry = { provider: string; set: boolean; hint: string | null; default_model: string };
  const { body } = await app.call<{ resources: Entry[] }>("GET", "/v2/model-keys", { headers });
  return body.resources;
};

describe("a key of a model provider", () => {
  test("without one, a run says where to add it", async () => {
    const { body } = await ask("openai");
    expect(JSON.stringify(body)).toContain("Settings, Models");
    expect(provider.calls).toEqual([]);
  });

  test("is kept sealed, shown by its end, and used by the built-in agent of its workspace", async () => {
    const set = await app.call("PUT", "/v2/model-keys/openai", { body: { key } });
    expect(set).toMatchObject({ status: 200, body: { provider: "openai", set: true, hint: "…WXYZ" } });
    expect(JSON.stringify(set.body)).not.toContain(key);
    const { rows } = await raw<{ text: string }>`select m::text as text from model_keys m`.execute(
      app.database.sql,
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]!.text).not.toContain(key);

    const { body } = await ask("openai");
    expect(body.messages?.at(-1)).toMatchObject({ type: "ai", content: "A real answer." });
    const [entry] = await list();
    expect(provider.calls.at(-1)).toMatchObject({
      authorization: `Bearer ${key}`,
      model: entry!.default_model,
    });
    await ask("openai/another-model");
    expect(provider.calls.at(-1)).toMatchObject({ model: "another-model" });
  });

  test("is in no trace, run, checkpoint or audit event", async () => {
    const traced = async () => {
      const { rows } = await raw<{ count: string }>`
        select count(*) from trace_runs where name = 'ChatOpenAI'`.execute(app.database.sql);
      return Number(rows[0]!.count) > 0;
    };
    await waitUntil(traced, { what: "the trace of the model call", timeoutMs: 20_000 });
    const tables = await raw<{ name: string }>`
      select table_name as name from information_schema.tables
      where table_schema = 'public' and table_type = 'BASE TABLE'`.execute(app.database.sql);
    for (const { name } of tables.rows) {
      const { rows } = await raw<{ found: boolean }>`
        select exists (select 1 from ${raw.table(name)} t where t::text like ${`%${key}%`}) as found`.execute(
        app.database.sql,
      );
      expect({ name, found: rows[0]!.found }).toEqual({ name, found: false });
    }
  });

  test("is set and removed by admins alone", async () => {
    const made = await app.call<{ key: string }>("POST", "/v2/api-keys", { body: { name: "editor" } });
    const headers = { "x-api-key": made.body.key };
    for (const method of ["PUT", "DELETE"] as const) {
      const refused = await app.call(method, "/v2/model-keys/openai", { headers, body: { key } });
      expect(refused.status).toBe(403);
    }
    expect((await list(headers))[0]).toMatchObject({ set: true, hint: "…WXYZ" });
    expect((await app.call("PUT", "/v2/model-keys/nobody", { body: { key } })).status).toBe(404);
    expect(
      (await app.call("PUT", "/v2/model-keys/openai", { body: { key: "with a space in" } })).status,
    ).toBe(422);
    expect((await app.call("DELETE", "/v2/model-keys/openai")).status).toBe(204);
    expect((await app.call("DELETE", "/v2/model-keys/openai")).status).toBe(404);
  });
});

describe("a model that nobody knows", () => {
  const create = (config: object) =>
    app.call<{ assistant_id: string }>("POST", "/assistants", {
      body: { graph_id: "agent", name: "Mine", ...config },
    });
  test("is refused when the assistant is made or changed", async () => {
    for (const config of [
      { config: { configurable: { model_name: "opnai/gpt" } } },
      { context: { model_name: "constructor" } },
    ]) {
      const refused = await create(config);
      expect(refused.status).toBe(422);
      expect(JSON.stringify(refused.body)).toContain("is not known");
    }
    const made = await create({ config: { configurable: { model_name: "anthropic" } } });
    expect(made.status).toBe(200);
    const changed = await app.call("PATCH", `/assistants/${made.body.assistant_id}`, {
      body: { config: { configurable: { model_name: "nonsense" } } },
    });
    expect(changed.status).toBe(422);
  });
});

describe("a model asked by hand", () => {
  const messages = [{ role: "user", content: "Hello" }];
  const play = (body: object, headers: Record<string, string> = {}) =>
    app.fetch("/v2/playground/stream", {
      method: "POST",
      headers: { "x-api-key": app.apiKey, "content-type": "application/json", ...headers },
      body: JSON.stringify({ messages, ...body }),
    });
  const eventsOf = async (response: Response) =>
    (await response.text())
      .split("\n\n")
      .filter((frame) => frame.startsWith("event:"))
      .map((frame) => ({
        event: /^event: (.*)$/m.exec(frame)![1],
        data: JSON.parse(/^data: (.*)$/m.exec(frame)![1]!) as Record<string, unknown>,
      }));

  test("answers in pieces with the workspace's key, and is traced in a project of its own", async () => {
    await app.call("PUT", "/v2/model-keys/openai", { body: { key } });
    const tools = [{ type: "function", function: { name: "look", parameters: { type: "object" } } }];
    const response = await play({ model: "openai/some-model", temperature: 0.5, tools });
    expect(response.status).toBe(200);
    const events = await eventsOf(response);
    expect(events.map(({ event }) => event).filter((event) => event !== "delta")).toEqual([
      "started",
      "message",
    ]);
    expect(
      events
        .filter(({ event }) => event === "delta")
        .map(({ data }) => data.text)
        .join(""),
    ).toBe("A real answer.");
    expect(events.at(-1)!.data).toMatchObject({
      message: { type: "ai", content: "A real answer." },
      usage: { total_tokens: 10 },
    });
    expect(provider.calls.at(-1)).toMatchObject({ authorization: `Bearer ${key}`, model: "some-model" });
    const runId = String(events[0]!.data.run_id);
    const traced = await waitUntil(
      async () => {
        const { status, body } = await app.call<Record<string, unknown>>("GET", `/api/v1/runs/${runId}`);
        return status === 200 && body;
      },
      { what: "the trace of the call", timeoutMs: 20_000 },
    );
    expect(traced).toMatchObject({
      run_type: "llm",
      status: "success",
      total_tokens: 10,
      inputs: { messages },
    });
    expect(JSON.stringify(traced)).not.toContain(key);
    const { body: projects } = await app.call<{ id: string }[]>("GET", "/api/v1/sessions?name=playground");
    expect(projects[0]!.id).toBe(traced.session_id);
  });

  test("is refused before it costs anything: no key, no such model, no messages, too much, a viewer", async () => {
    const calls = provider.calls.length;
    const missing = await play({ model: "anthropic" });
    expect([missing.status, missing.headers.get("x-error-code")]).toEqual([422, "graph.model_key_missing"]);
    expect((await play({ model: "nobody/x" })).headers.get("x-error-code")).toBe("graph.model_unknown");
    const odd = await play({ model: "offline", messages: [{ role: "nonsense", content: {} }] });
    expect(odd.status).toBe(422);
    expect((await play({ model: "openai", messages: [] })).status).toBe(422);
    const huge = [{ role: "user", content: "x".repeat(5_000_000) }];
    expect((await play({ model: "openai", messages: huge })).status).toBe(413);
    const viewer = await app.call<{ key: string }>("POST", "/v2/api-keys", {
      body: { name: "viewer", role: "viewer" },
    });
    expect((await play({ model: "openai" }, { "x-api-key": viewer.body.key })).status).toBe(403);
    const reader = await app.call<{ key: string }>("POST", "/v2/api-keys", {
      body: { name: "reader", scopes: ["read"] },
    });
    expect((await play({ model: "openai" }, { "x-api-key": reader.body.key })).status).toBe(403);
    expect(provider.calls).toHaveLength(calls);
  });
});

describe("a key of another workspace", () => {
  test("is not used, also not by saying that one is of it", async () => {
    expect((await app.call("PUT", "/v2/model-keys/openai", { body: { key } })).status).toBe(200);
    const { body } = await app.call<{ id: string }>("POST", "/v2/workspaces", { body: { name: "Other" } });
    const other = { "x-tenant-id": body.id };
    expect((await list(other)).map(({ set }) => set)).toEqual([false, false, false]);
    const calls = provider.calls.length;
    const pretended = await app.call("POST", "/runs/wait", {
      body: {
        assistant_id: "agent",
        input: { messages: [{ role: "user", content: "Hello" }] },
        config: { configurable: { model_name: "openai", __treadle_workspace: app.workspaceId } },
      },
      headers: other,
    });
    expect(JSON.stringify(pretended.body)).toContain("Settings, Models");
    expect(provider.calls).toHaveLength(calls);
  });
});
