import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Send as ServerSend } from "@langchain/langgraph";
import { afterEach, describe, expect, test } from "vitest";
import { descendantsOf } from "../../../../tests/support/components/process-table.ts";
import { createTempFolder } from "../../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../../tests/support/components/wait-until.ts";
import {
  type JavascriptProject,
  loadJavascriptProject,
} from "../../../../tests/support/javascript-project.ts";
import { createSchemaCatalog } from "../schema-catalog.ts";
import { drawGraph, readSubgraphSchemas } from "./graph-drawing.ts";
import { readGraphSchemas } from "./graph-schemas.ts";

const fixtures = fileURLToPath(new URL("../../../../tests/fixtures/graphs/", import.meta.url));
const opened: JavascriptProject[] = [];
const added: string[] = [];

async function open(name: string, environment: Record<string, string> = {}) {
  const applied: Record<string, string> = {};
  const project = await loadJavascriptProject({
    configPath: `${fixtures}${name}/langgraph.json`,
    environment,
    applyEnvironment(values) {
      Object.assign(applied, values);
      Object.assign(process.env, values);
      added.push(...Object.keys(values));
    },
  });
  opened.push(project);
  return { ...project, applied };
}

afterEach(async () => {
  for (const project of opened.splice(0)) await project.close();
  for (const name of added.splice(0)) delete process.env[name];
});

async function run(project: JavascriptProject, graphId: string, input: unknown = {}) {
  const graph = await project.graphs.get(graphId)!.resolve({}, "threads.create_run");
  return (await graph.invoke(input)) as Record<string, unknown>;
}

describe("a TypeScript project", () => {
  test("runs with .js imports, enums, parameter properties, path aliases and late imports", async () => {
    const project = await open("typescript", { FIXTURE_ALREADY_SET: "from the operator" });
    expect([...project.broken.values()].map(String)).toEqual([]);
    const { messages } = (await run(project, "agent")) as { messages: { content: string }[] };
    expect(messages[0]?.content).toBe("hello from the file (calm) / hello from the file / busy");
    expect(project.applied).toEqual({ FIXTURE_GREETING: "hello from the file" });
  });

  test("is compiled in a process that has ended when the project is loaded", async () => {
    const folder = await createTempFolder("resting-compiler");
    try {
      await writeFile(`${folder.path}/package.json`, '{ "type": "module" }');
      await writeFile(`${folder.path}/langgraph.json`, '{ "graphs": { "none": "./graph.ts:graph" } }');
      // Never compiled before: what was is kept on the disk.
      await writeFile(
        `${folder.path}/graph.ts`,
        `enum Name { own = "${randomUUID()}" }\nexport const graph = Name.own;`,
      );
      const project = await loadJavascriptProject({
        configPath: `${folder.path}/langgraph.json`,
        environment: {},
        applyEnvironment: () => undefined,
      });
      opened.push(project);
      expect([...project.broken.keys()]).toEqual(["none"]);
      // Nor one that has ended and is still in the process table, without a command line.
      const compilers = () => descendantsOf(process.pid).filter((pid) => nameOf(pid) === "esbuild");
      await waitUntil(() => compilers().length === 0, { what: "the end of the compiler", timeoutMs: 30_000 });
    } finally {
      await folder.remove();
    }
  });

  test("may leave compiling to the server, and is resolved to one object", async () => {
    const { graphs } = await open("typescript");
    const loaded = graphs.get("uncompiled")!;
    expect(loaded.description).toBe("Not compiled by its author.");
    expect(loaded.isFactory).toBe(false);
    const first = await loaded.resolve({}, "threads.create_run");
    expect(await loaded.resolve({}, "threads.read")).toBe(first);
    expect(Object.keys(first.nodes)).toContain("greet");
  });

  test("warns about an env file that is not there and a variable nobody set", async () => {
    expect((await open("commonjs")).warnings).toEqual([
      expect.stringMatching(/missing\.env .*does not exist/),
    ]);
    expect((await open("broken")).warnings).toEqual([expect.stringContaining("FIXTURE_REQUIRED")]);
    expect((await open("broken", { FIXTURE_REQUIRED: "set" })).warnings).toEqual([]);
  });
});

test("a JavaScript project may export a default or an object that carries its graph", async () => {
  const project = await open("javascript");
  expect(await run(project, "plain")).toEqual({ answer: "7" });
  expect(await run(project, "wrapped")).toEqual({ answer: "7" });
});

test("a CommonJS project gets the kit of the copy it loaded", async () => {
  const project = await open("commonjs");
  expect([...project.broken.values()].map(String)).toEqual([]);
  for (const graphId of ["typed", "factory", "defaulted"]) {
    const loaded = project.graphs.get(graphId)!;
    const graph = await loaded.resolve({}, "threads.create_run");
    expect(loaded.kit.format).toBe("cjs");
    expect(loaded.kit.owns(graph)).toBe(true);
    const { Command, Send } = loaded.kit;
    expect(Send).not.toBe(ServerSend);
    const state = await graph.invoke(new Command({ goto: [new Send("receive", { sent: "over" })] }));
    expect(state).toMatchObject({ sent: "over" });
  }
});

describe("a factory", () => {
  test("gets the config and why it is called, and the run's context only when it will run", async () => {
    const { graphs } = await open("factory");
    for (const graphId of ["sync", "async"]) {
      const loaded = graphs.get(graphId)!;
      expect(loaded.isFactory).toBe(true);
      const config = { configurable: { user: "ada" } };
      const running = await loaded.resolve(config, "threads.create_run", { tenant: 1 });
      expect(await running.invoke({})).toEqual({
        seen: {
          user: "ada",
          accessContext: "threads.create_run",
          executionRuntime: { context: { tenant: 1 } },
        },
      });
      const reading = await loaded.resolve({}, "threads.read", { tenant: 1 });
      expect(await reading.invoke({})).toEqual({
        seen: { user: null, accessContext: "threads.read", executionRuntime: null },
      });
    }
  });

  test("that fails or returns something else is named in the error", async () => {
    const { graphs } = await open("factory");
    await expect(graphs.get("failing")!.resolve({}, "threads.read")).rejects.toMatchObject({
      code: "graph.factory_failed",
      message: expect.stringMatching(/"failing" .*factory\.ts, export "fail".*the vault is locked/),
    });
    await expect(graphs.get("wrong")!.resolve({}, "threads.read")).rejects.toMatchObject({
      code: "graph.not_a_graph",
      message: expect.stringContaining("a number instead of a graph"),
    });
  });
});

describe("a project with broken graphs", () => {
  test("still runs the good one", async () => {
    const project = await open("broken");
    expect([...project.graphs.keys()]).toEqual(["good"]);
    expect(await run(project, "good")).toEqual({ ok: "inline" });
  });

  test.each([
    ["missing-import", "graph.load_failed", /missing-import\.ts, export "graph".*a-package-nobody-installed/],
    [
      "missing-export",
      "graph.load_failed",
      /good\.js, export "agent".*no export "agent"; it exports graph, notAGraph/,
    ],
    ["syntax-error", "graph.load_failed", /syntax-error\.ts.*Unexpected "="/s],
    ["throws", "graph.load_failed", /throws\.ts.*no key for the model/],
    ["not-a-graph", "graph.not_a_graph", /export is a plain object; export a StateGraph/],
    ["missing-file", "graph.load_failed", /nowhere\.ts does not exist/],
    ["ruby", "graph.load_failed", /agent\.rb is not a JavaScript, TypeScript or Python file/],
  ])("says what is wrong with %s", async (graphId, code, message) => {
    const { broken } = await open("broken");
    const error = broken.get(graphId);
    expect(error?.code).toBe(code);
    expect(error?.message).toMatch(message);
    expect(error?.message).toContain(`Graph "${graphId}"`);
  });
});

describe("auth and custom routes", () => {
  test("are loaded with the project", async () => {
    const { auth, httpApp, config } = await open("http-and-auth");
    expect(auth?.disableStudioAuth).toBe(true);
    expect(Object.keys(auth?.callbacks ?? {})).toEqual(["threads:create"]);
    const request = new Request("http://localhost/x", { headers: { authorization: "Bearer let-me-in" } });
    expect(await auth?.authenticate?.(request)).toMatchObject({ identity: "ada" });
    expect(await (await httpApp?.fetch(request))?.text()).toBe("custom /x");
    expect(config.file.http?.configurable_headers?.includes).toEqual(["x-user-*"]);
  });

  test("stop the start when the guard cannot be loaded", async () => {
    await expect(open("auth-broken")).rejects.toMatchObject({
      code: "graph.part_unusable",
      message: expect.stringMatching(/^auth\.path in .*not an Auth object/),
    });
  });
});

test("a project file that is not there is named", async () => {
  await expect(open("nowhere")).rejects.toMatchObject({ code: "graph.config_missing" });
});

describe("schemas", () => {
  test("of a zod state come from its definition, update types included", async () => {
    const { graphs } = await open("typescript");
    const { kit, resolve } = graphs.get("zod")!;
    const schemas = readGraphSchemas(await resolve({}, "assistants.read"), kit);
    expect(schemas.input_schema).toMatchObject({ properties: { topics: { type: "string" } } });
    expect(schemas.state_schema).toMatchObject({
      $schema: expect.stringContaining("draft-07"),
      properties: {
        topics: { type: "array", items: { type: "string" } },
        messages: { type: "array", langgraph_type: "messages" },
      },
    });
    expect(schemas.context_schema).toMatchObject({ properties: { model: { type: "string" } } });
  });

  test("of annotations name the channels and know messages", async () => {
    const { graphs } = await open("typescript");
    const { kit, resolve } = graphs.get("agent")!;
    const { state_schema, config_schema } = readGraphSchemas(await resolve({}, "assistants.read"), kit);
    expect(state_schema?.properties).toMatchObject({
      messages: { type: "array", langgraph_type: "messages" },
      visits: { type: "number" },
      city: {},
    });
    expect(config_schema).toBeNull();
  });

  test("are worked out once per graph, and a graph that cannot be built has none", async () => {
    const project = await open("factory");
    const problems: string[] = [];
    const catalog = createSchemaCatalog({
      graphs: project.graphs,
      onProblem: (graphId) => problems.push(graphId),
    });
    await catalog.warm();
    expect(problems).toEqual(["failing", "wrong"]);
    expect(await catalog.get("sync")).toBe(await catalog.get("sync"));
    expect(await catalog.get("failing")).toMatchObject({ state_schema: null });
    expect(await catalog.get("nothing")).toBeUndefined();
    expect(problems).toHaveLength(2);
  });
});

describe("drawing", () => {
  test("lists nodes and edges, and opens subgraphs on request", async () => {
    const { graphs } = await open("typescript");
    const { kit, resolve } = graphs.get("zod")!;
    const graph = await resolve({}, "assistants.read");
    const flat = await drawGraph(graph);
    expect(flat.nodes.map((node) => [node.id, node.type])).toEqual([
      ["__start__", "schema"],
      ["note", "runnable"],
      ["inner", "runnable"],
      ["__end__", "schema"],
    ]);
    expect(flat.edges).toContainEqual({ source: "__start__", target: "note", conditional: false });
    const deep = await drawGraph(graph, true);
    expect(deep.nodes.map((node) => node.id)).toEqual(expect.arrayContaining(["inner:deep"]));
    expect(Object.keys(await readSubgraphSchemas(graph, kit))).toEqual(["inner"]);
    expect(await readSubgraphSchemas(graph, kit, { namespace: "inner" })).toMatchObject({
      inner: { state_schema: { properties: { topics: { type: "array" } } } },
    });
    expect(await readSubgraphSchemas(graph, kit, { namespace: "other" })).toEqual({});
  });
});

/** Also of a process that has ended and was not waited for. */
function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "";
  }
}
