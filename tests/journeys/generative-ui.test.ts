import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type RunningAgent, startAgent } from "../support/agent-command.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

const project = fileURLToPath(new URL("../../examples/generative-ui/langgraph.json", import.meta.url));
const key = "a-key-of-16-characters-or-more";
let databases: TestDatabase[];
let open: RunningAgent;
let keyed: RunningAgent;

beforeAll(async () => {
  databases = await Promise.all([createTestDatabase(), createTestDatabase()]);
  [open, keyed] = await Promise.all([
    startAgent(project, { DATABASE_URL: databases[0]!.url, MOUNT_PREFIX: "/agents" }),
    startAgent(project, { DATABASE_URL: databases[1]!.url, TREADLE_API_KEY: key }),
  ]);
});
afterAll(async () => {
  await Promise.all([open?.process.stop(), keyed?.process.stop()]);
  for (const database of databases) await database.drop();
});

const load = (url: string, headers: Record<string, string> = {}) =>
  fetch(`${url}/ui/weather`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ name: "weather" }),
  });

describe("a graph that pushes components", () => {
  type Pushed = { type: string; name: string; props: object; id: string };

  test("streams them as custom events and keeps them in its state", async () => {
    const client = new Client({ apiUrl: open.ready.url, callerOptions: { maxRetries: 0 } });
    const { thread_id } = await client.threads.create();
    const input = { messages: [{ role: "user", content: "Oslo" }] };
    const seen: { event: string; data: unknown }[] = [];
    const streamMode: ("custom" | "values")[] = ["custom", "values"];
    for await (const part of client.runs.stream(thread_id, "weather", { input, streamMode })) seen.push(part);
    const [custom, ...more] = seen
      .filter(({ event }) => event === "custom")
      .map(({ data }) => data as Pushed);
    expect(more).toEqual([]);
    expect(custom).toMatchObject({ type: "ui", name: "weather", props: { city: "Oslo" } });
    const last = seen.at(-1)!.data as { ui: Pushed[]; messages: { id: string }[] };
    expect(last.ui).toEqual([custom]);
    const { values } = await client.threads.getState<typeof last>(thread_id);
    expect(values.ui).toEqual([custom]);
    expect(values.ui[0]).toMatchObject({ metadata: { id: values.messages.at(-1)!.id } });
  });
});

test("below a prefix the tags carry it", async () => {
  const text = await (await load(`${open.ready.url}/agents`)).text();
  const [, src] = /<script src="([^"]+)"/.exec(text) ?? [];
  expect(src).toBe(`${open.ready.url}/agents/ui/weather/entrypoint.js`);
  expect((await fetch(src!)).status).toBe(200);
});

describe("with a key", () => {
  test("nobody else gets a component or its files", async () => {
    expect((await load(keyed.ready.url)).status).toBe(401);
    expect((await fetch(`${keyed.ready.url}/ui/weather/entrypoint.js`)).status).toBe(401);
  });

  test("the unmodified client gets script and style with the answer", async () => {
    const client = new Client({ apiUrl: keyed.ready.url, apiKey: key, callerOptions: { maxRetries: 0 } });
    const html = await client["~ui"].getComponent("weather", "weather");
    expect(html).toContain("<style>");
    expect(html).toContain(`__LGUI_weather.render("weather", "{{shadowRootId}}")`);
    expect(html).not.toContain("entrypoint.js");
    const file = await fetch(`${keyed.ready.url}/ui/weather/entrypoint.js`, {
      headers: { "x-api-key": key },
    });
    expect([file.status, file.headers.get("content-type")]).toEqual([200, "text/javascript; charset=utf-8"]);
  });
});
