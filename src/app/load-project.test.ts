import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { keepLogs } from "../../tests/support/logged-lines.ts";
import { loadProject } from "./load-project.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle-project-"));
  await writeFile(join(folder, "graph.mjs"), "export const graph = { lg_is_pregel: true };\n");
});
afterEach(() => rm(folder, { recursive: true }));

async function load(project: object) {
  const configPath = join(folder, "langgraph.json");
  await writeFile(configPath, JSON.stringify(project));
  const fetch = async () => new Response();
  return loadProject({
    configPath,
    environment: { TREADLE_PYTHON: join(folder, "nowhere") },
    applyEnvironment: () => undefined,
    logger: keepLogs().logger,
    python: { workers: 1, watchdogMs: 0, memoryLimitMb: null, spare: false },
    server: { callServer: fetch, passOn: fetch },
  });
}

describe("a project on a machine without its Python", () => {
  it("serves its other graphs, and says why not those", async () => {
    const project = await load({ graphs: { snake: "./agent.py:graph", coffee: "./graph.mjs:graph" } });
    expect([...project.graphs.keys()]).toEqual(["coffee"]);
    expect(project.broken.get("snake")?.message).toMatch(/Graph "snake".*No Python was found[\s\S]*nowhere/);
    expect(Object.keys(project.libraryVersions)).toContain("javascript");
    await project.close();
  });

  it.each([
    ["has no other graphs", { graphs: { snake: "./agent.py:graph" } }],
    [
      "would be unguarded",
      {
        graphs: { snake: "./agent.py:graph", coffee: "./graph.mjs:graph" },
        auth: { path: "./auth.py:auth" },
      },
    ],
  ])("is not served where it %s", async (_, project) => {
    await expect(load(project)).rejects.toMatchObject({ code: "graph.python_missing" });
  });

  it.each([
    ["encryption.path", { encryption: { path: "./crypt.py:encryption" } }],
    ["checkpointer.path", { checkpointer: { path: "./saver.py:make" } }],
  ])("never stores elsewhere or in plain text what %s is for", async (name, more) => {
    await expect(load({ graphs: { snake: "./agent.py:graph" }, ...more })).rejects.toThrow(`has ${name}`);
  });
});
