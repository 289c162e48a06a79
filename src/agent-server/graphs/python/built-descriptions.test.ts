import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import type { RuntimeGround } from "../graph-runtime.ts";
import { BuiltDescriptions } from "./built-descriptions.ts";
import { pythonGraph } from "./python-graph.ts";
import type { PythonPool } from "./python-pool.ts";

const schemas = {
  input_schema: { type: "object" },
  output_schema: null,
  state_schema: null,
  config_schema: null,
  context_schema: null,
};
const drawing = (id: string) => ({ nodes: [{ id, data: {} }], edges: [] });
const described = { shape: "abc", schemas, drawings: { plain: drawing("outer"), xray: drawing("inner") } };
const loaded = { graphId: "agent", isFactory: false, isRepeatable: true, shape: "abc" };

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "treadle-built-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  file = join(directory, ".venv", "treadle-graphs.json");
  await mkdir(join(directory, ".venv"));
});

it("answers for a graph without a Python process", async () => {
  await writeFile(file, JSON.stringify({ format: 1, graphs: { agent: described } }));
  const built = (await BuiltDescriptions.read(directory)).of(loaded);
  // A pool that is asked fails the test.
  const pool = { any: () => Promise.reject(new Error("Python was asked")) } as unknown as PythonPool;
  const source = { graphId: "agent", file: "agent.py", exportName: "graph", description: undefined };
  const graph = pythonGraph(source, loaded, pool, built);
  expect(await graph.schemas()).toEqual(schemas);
  const bound = graph.bind({} as RuntimeGround);
  expect(await bound.draw({}, false)).toEqual({
    nodes: [{ id: "outer", type: "schema", data: {} }],
    edges: [],
  });
  expect((await bound.draw({}, true)).nodes[0]!.id).toBe("inner");
  await expect(bound.draw({}, 2)).rejects.toThrow("Python was asked");
});

it("leaves a graph to Python that has other nodes where it is served, or is not described", async () => {
  await writeFile(file, JSON.stringify({ format: 1, graphs: { agent: described } }));
  const built = await BuiltDescriptions.read(directory);
  expect(built.of({ ...loaded, shape: "other" })).toBeUndefined();
  expect(built.of({ ...loaded, shape: null })).toBeUndefined();
  expect(built.of({ ...loaded, graphId: "constructor" })).toBeUndefined();
});

it.each([
  ["no JSON", "{"],
  ["another format", JSON.stringify({ format: 2, graphs: { agent: described } })],
  ["other fields", JSON.stringify({ format: 1, graphs: { agent: { shape: "abc" } } })],
])("takes nothing from a file with %s", async (_, text) => {
  await writeFile(file, text);
  expect((await BuiltDescriptions.read(directory)).of(loaded)).toBeUndefined();
});

it("takes nothing where there is no such file, or a link to another", async () => {
  expect((await BuiltDescriptions.read(directory)).of(loaded)).toBeUndefined();
  await writeFile(join(directory, "elsewhere"), JSON.stringify({ format: 1, graphs: { agent: described } }));
  await symlink(join(directory, "elsewhere"), file);
  expect((await BuiltDescriptions.read(directory)).of(loaded)).toBeUndefined();
});
