import { describe, expect, test } from "vitest";
import { AppError } from "../../platform/errors.ts";
import { environmentAdditions, parseEnvFile, requestedEnvironment } from "./env-file.ts";
import { parseModuleReference, parseProjectConfig } from "./project-config.ts";

const path = "/projects/one/langgraph.json";
const parse = (value: unknown) => parseProjectConfig(JSON.stringify(value), path);

function problemsOf(run: () => unknown): string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError && error.code === "graph.config_invalid")
      return error.detail?.problems as string[];
    throw error;
  }
  throw new Error("The configuration was accepted.");
}

describe("a project file", () => {
  test("names its graphs, each with a file and an export", () => {
    const config = parse({
      graphs: { agent: "./src/agent.ts:graph", other: { path: "./b.js", description: "The other." } },
    });
    expect(config.directory).toBe("/projects/one");
    expect(config.graphs).toEqual([
      { graphId: "agent", file: "./src/agent.ts", exportName: "graph", description: undefined },
      { graphId: "other", file: "./b.js", exportName: "default", description: "The other." },
    ]);
  });

  test("keeps keys this server does not know", () => {
    const { file } = parse({ graphs: { a: "./a.ts:a" }, image_distro: "wolfi", http: { middleware: 1 } });
    expect(file.image_distro).toBe("wolfi");
    expect(file.http?.middleware).toBe(1);
  });

  test("carries the settings of auth, http, store and checkpointer", () => {
    const config = parse({
      graphs: { a: "./a.ts:a" },
      auth: { path: "./auth.ts:auth", disable_studio_auth: true },
      http: { app: "./app.ts:app", disable_mcp: true, mount_prefix: "/x" },
      store: { index: { embed: "openai:small", dims: 3, fields: ["$"] }, ttl: { default_ttl: 5 } },
      checkpointer: { ttl: { strategy: "keep_latest", default_ttl: 1, sweep_limit: 10 } },
      webhooks: { headers: { "x-a": "b" } },
    });
    expect(config.auth).toEqual({ file: "./auth.ts", exportName: "auth", disableStudioAuth: true });
    expect(config.httpApp).toEqual({ file: "./app.ts", exportName: "app" });
    expect(config.file.checkpointer?.ttl?.strategy).toBe("keep_latest");
    expect(config.file.store?.index?.dims).toBe(3);
  });

  test("may start with a byte order mark", () => {
    expect(parseProjectConfig(`\uFEFF{"graphs":{"a":"./a.ts:a"}}`, path).graphs).toHaveLength(1);
  });
});

describe("a project file that cannot be used", () => {
  test("lists every problem with its place", () => {
    const problems = problemsOf(() =>
      parse({
        graphs: { a: 3 },
        env: 4,
        http: { disable_mcp: "no", mount_prefix: "agents" },
        checkpointer: { ttl: { strategy: "forget" } },
      }),
    );
    expect(problems).toEqual([
      'graphs.a must be "./path/to/file.ts:exportName" or an object with a "path" like that',
      "env must be the path of a .env file, an object of names and values, or a list of names",
      "http.disable_mcp must be true or false",
      'http.mount_prefix must start with "/"',
      'checkpointer.ttl.strategy must be "delete" or "keep_latest"',
    ]);
  });

  test("names components that are not in the project", () => {
    const graphs = { a: "./a.ts:graph" };
    expect(
      problemsOf(() => parse({ graphs, ui: { a: "../ui.tsx", b: "/etc/ui.tsx", c: "./ui.tsx" } })),
    ).toEqual([
      "ui.a must be a file of the project, not ../ui.tsx",
      "ui.b must be a file of the project, not /etc/ui.tsx",
    ]);
    expect(problemsOf(() => parse({ graphs, ui: ["./ui.tsx"] }))).toEqual([
      "ui must be an object that maps graph names to files",
    ]);
  });

  test("without graphs says so", () => {
    expect(problemsOf(() => parse({}))).toEqual(["graphs must be an object that maps graph names to files"]);
    expect(problemsOf(() => parse({ graphs: {} }))).toEqual(["graphs must name at least one graph"]);
  });

  test("that is not JSON names the file and where it broke", () => {
    const problems = problemsOf(() => parseProjectConfig('{"graphs": ', path));
    expect(problems[0]).toMatch(/^The file is not valid JSON: /);
    expect(() => parseProjectConfig("{", path)).toThrow(path);
  });
});

test("a reference is split at its last colon", () => {
  expect(parseModuleReference("C:\\agents\\a.ts:graph")).toEqual({
    file: "C:\\agents\\a.ts",
    exportName: "graph",
  });
  expect(parseModuleReference("C:\\agents\\a.ts")).toEqual({
    file: "C:\\agents\\a.ts",
    exportName: "default",
  });
  expect(parseModuleReference("./a.ts:")).toEqual({ file: "./a.ts", exportName: "default" });
});

describe("the environment a project asks for", () => {
  test("is read from a file with quotes, comments and export", () => {
    const source = "# comment\nA=1\nB=\"two words\"\nexport C='three'\nD=\n";
    expect(parseEnvFile(source)).toEqual({ A: "1", B: "two words", C: "three", D: "" });
  });

  test("is a file, values, or names that must be set", () => {
    expect(requestedEnvironment(undefined)).toEqual({ kind: "none" });
    expect(requestedEnvironment(".env")).toEqual({ kind: "file", path: ".env" });
    expect(requestedEnvironment({ A: 1, B: true })).toEqual({
      kind: "values",
      values: { A: "1", B: "true" },
      required: [],
    });
    expect(requestedEnvironment(["KEY", "A=b=c"])).toEqual({
      kind: "values",
      values: { A: "b=c" },
      required: ["KEY"],
    });
  });

  test("does not replace what is set already", () => {
    expect(environmentAdditions({ A: "file", B: "file" }, { A: "operator" })).toEqual({ B: "file" });
  });
});
