import { describe, expect, it } from "vitest";
import { type AgentFacts, agentEnvironment, scaleOf } from "./agent-environment.ts";

const facts: AgentFacts = {
  deploymentId: "d",
  deploymentName: "my-agent",
  workspaceId: "w",
  revisionId: "r",
  listenHost: "127.0.0.1",
  port: 4000,
  url: "http://127.0.0.1:8124/d/my-agent",
  databaseUrl: "postgres://x",
  repoUrl: null,
  repoRef: null,
  commitSha: null,
  tracing: { endpoint: "http://127.0.0.1:8124/api/v1", apiKey: "platform-key" },
  secretReferences: [],
  home: "/home/x",
  instanceSecret: "only-the-gateway-says-this",
  resources: { memoryBytes: 512 * 1024 * 1024, cpus: null },
};
const tracingOf = (secrets: Record<string, string>, more: Partial<AgentFacts> = {}) => {
  const given = Object.entries(secrets).map(([name, value]) => ({ name, value }));
  const all = agentEnvironment({}, given, { ...facts, ...more });
  const { LANGSMITH_TRACING: on, LANGSMITH_ENDPOINT: endpoint, LANGSMITH_API_KEY: key } = all;
  return { on, endpoint, key, legacy: all.LANGCHAIN_TRACING_V2, project: all.LANGSMITH_PROJECT };
};

describe("the places a server's C library keeps memory in", () => {
  const arenasOf = (value?: string) => {
    const own = value === undefined ? [] : [{ name: "MALLOC_ARENA_MAX", value }];
    const { MALLOC_ARENA_MAX: arenas, TREADLE_ARENAS: ours } = agentEnvironment({}, own, facts);
    return { arenas, ours };
  };

  it("are two, marked as the server's own", () => {
    expect(arenasOf()).toEqual({ arenas: "2", ours: "2" });
  });

  it("are as many as the owner says, which the project's programs inherit, also where it is two", () => {
    for (const own of ["2", "4"]) expect(arenasOf(own)).toEqual({ arenas: own, ours: undefined });
  });
});

describe("a server's settings of tracing", () => {
  it("is the platform, and the project of the deployment's name", () => {
    expect(tracingOf({})).toEqual({
      on: "true",
      legacy: "true",
      endpoint: "http://127.0.0.1:8124/api/v1",
      key: "platform-key",
      project: "my-agent",
    });
    expect(tracingOf({}, { tracing: null })).toMatchObject({ on: undefined, key: undefined });
  });

  it("is what the owner says, who never gets the platform's key for another place", () => {
    expect(tracingOf({ LANGSMITH_API_KEY: "mine" })).toMatchObject({
      on: "true",
      key: "mine",
      endpoint: undefined,
    });
    expect(tracingOf({ LANGSMITH_ENDPOINT: "https://elsewhere" })).toMatchObject({
      on: undefined,
      key: undefined,
      endpoint: "https://elsewhere",
    });
    expect(tracingOf({ LANGSMITH_TRACING: "false" })).toMatchObject({
      on: "false",
      legacy: undefined,
      key: undefined,
    });
  });

  it("is what the owner has in the cluster, as if it were among the secrets", () => {
    const referring = (...names: string[]) => ({
      secretReferences: names.map((name) => ({ name, secret_name: "keys", secret_key: "it" })),
    });
    const nothing = { on: undefined, legacy: undefined, endpoint: undefined, key: undefined };
    const on = { ...nothing, on: "true", legacy: "true" };
    expect(tracingOf({}, referring("LANGSMITH_API_KEY"))).toMatchObject(on);
    expect(tracingOf({}, referring("LANGSMITH_API_KEY", "LANGSMITH_ENDPOINT"))).toMatchObject(on);
    expect(tracingOf({}, referring("LANGSMITH_ENDPOINT"))).toMatchObject(nothing);
    expect(tracingOf({}, referring("LANGSMITH_TRACING", "LANGSMITH_API_KEY"))).toMatchObject(nothing);
    const off = tracingOf({ LANGSMITH_TRACING: "false" }, referring("LANGSMITH_API_KEY"));
    expect(off).toMatchObject({ ...nothing, on: "false" });
    expect(tracingOf({}, referring("OPENAI_API_KEY"))).toMatchObject({ on: "true", key: "platform-key" });
  });
});

describe("the scale of a resource specification", () => {
  it.each([
    [null, { min: 1, max: 1, by: "treadle" }],
    [
      { min_scale: 0, max_scale: 3 },
      { min: 1, max: 3, by: "treadle" },
    ],
    [{ min_scale: 2 }, { min: 2, max: 2, by: "treadle" }],
    [
      { min_scale: null, max_scale: 5, scaling: "external" },
      { min: 1, max: 5, by: "external" },
    ],
  ])("%j", (spec, scale) => {
    expect(scaleOf(spec)).toEqual(scale);
  });
});
