import { describe, expect, test } from "vitest";
import { parseAgentConfig, readDefaultConfigs } from "./agent.ts";

const read = (environment: Record<string, string> = {}) =>
  parseAgentConfig("/projects/bot/langgraph.json", environment);

test("defaults: open on loopback, a small pool, the folder beside the project", () => {
  expect(read()).toMatchObject({
    configPath: "/projects/bot/langgraph.json",
    host: "127.0.0.1",
    port: 2024,
    dataDir: "/projects/bot/.treadle-agent",
    databaseUrl: undefined,
    databasePool: 4,
    runConcurrency: 100,
    runTimeoutMs: 86_400_000,
    shutdownGraceMs: 180_000,
    authRequired: false,
    needsGuard: false,
    allowPrivateAddresses: true,
    watchdogMs: 60_000,
    logLevel: "info",
  });
});

describe("the database", () => {
  const url = (name: string) => `postgres://db/${name}`;
  test.each([
    [["DATABASE_URI"], "DATABASE_URI"],
    [["DATABASE_URI", "POSTGRES_URI"], "POSTGRES_URI"],
    [["DATABASE_URI", "POSTGRES_URI", "POSTGRES_URI_CUSTOM"], "POSTGRES_URI_CUSTOM"],
    [["DATABASE_URI", "POSTGRES_URI", "POSTGRES_URI_CUSTOM", "DATABASE_URL"], "DATABASE_URL"],
  ])("of %j is %s", (names, chosen) => {
    const environment = Object.fromEntries(names.map((name) => [name, url(name)]));
    expect(read(environment).databaseUrl).toBe(url(chosen));
  });

  test("keeps its password out of an error", () => {
    const bad = { POSTGRES_URI: "mysql://user:hush@db/x" };
    expect(() => read(bad)).toThrow(/POSTGRES_URI: must start with postgres/);
    expect(() => read(bad)).not.toThrow(/hush/);
  });
});

describe("whether a key is asked for", () => {
  const key = "a key of 16 or more";
  test.each([
    [{}, false, false],
    [{ TREADLE_API_KEY: key }, true, false],
    [{ LANGGRAPH_AUTH_TYPE: "noop" }, false, false],
    [{ LANGGRAPH_AUTH_TYPE: "langsmith" }, true, true],
    [{ LANGGRAPH_AUTH_TYPE: "langsmith", TREADLE_API_KEY: key }, true, false],
    [{ TREADLE_HOST: "0.0.0.0" }, true, true],
    [{ TREADLE_HOST: "0.0.0.0", TREADLE_AGENT_AUTH: "open" }, false, false],
    [{ TREADLE_PUBLIC_URL: "https://bot.example" }, true, true],
    [{ TREADLE_AGENT_AUTH: "required" }, true, true],
  ])("%j: %j", (environment, authRequired, needsGuard) => {
    expect(read(environment as Record<string, string>)).toMatchObject({ authRequired, needsGuard });
  });
});

test("beyond loopback webhooks stay away from private addresses unless told otherwise", () => {
  expect(read({ TREADLE_HOST: "0.0.0.0" }).allowPrivateAddresses).toBe(false);
  const allowed = { TREADLE_HOST: "0.0.0.0", TREADLE_ALLOW_PRIVATE_ADDRESSES: "1" };
  expect(read(allowed).allowPrivateAddresses).toBe(true);
});

describe("LANGGRAPH_CONFIG", () => {
  test("gives default assistants their config and context", () => {
    const text = JSON.stringify({ agent: { configurable: { tone: "calm" }, context: { tenant: 1 } } });
    expect(readDefaultConfigs({ LANGGRAPH_CONFIG: text })).toEqual({
      agent: { config: { configurable: { tone: "calm" } }, context: { tenant: 1 } },
    });
  });

  test.each(["not json", "[]", '{"agent": 1}'])("%s is refused", (text) => {
    expect(() => readDefaultConfigs({ LANGGRAPH_CONFIG: text })).toThrow(/LANGGRAPH_CONFIG must be/);
  });
});

test.each([
  ["INFO", "info"],
  ["WARNING", "warn"],
  ["debug", "debug"],
  ["loud", "info"],
])("LOG_LEVEL %s is %s", (given, level) => {
  expect(read({ LOG_LEVEL: given }).logLevel).toBe(level);
});
