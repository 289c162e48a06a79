import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { createTempFolder } from "../../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../../tests/support/components/wait-until.ts";
import {
  type JavascriptProject,
  loadJavascriptProject,
} from "../../../../tests/support/javascript-project.ts";
import { findInstalledPackage } from "../../../platform/installed-package.ts";
import { createSchemaCatalog } from "../schema-catalog.ts";
import { withCompiler } from "./compiler-process.ts";
import { createTypeSchemas } from "./type-schemas.ts";

const fixtures = fileURLToPath(new URL("../../../../tests/fixtures/graphs/", import.meta.url));
const opened: JavascriptProject[] = [];
const added: string[] = [];

afterEach(async () => {
  for (const project of opened.splice(0)) await project.close();
  for (const name of added.splice(0)) delete process.env[name];
});

/** With its environment: a module is imported once in a process, and other tests read what it found then. */
async function open(name: string): Promise<JavascriptProject> {
  const project = await loadJavascriptProject({
    configPath: `${fixtures}${name}/langgraph.json`,
    environment: {},
    applyEnvironment(values) {
      Object.assign(process.env, values);
      added.push(...Object.keys(values));
    },
  });
  opened.push(project);
  return project;
}

async function openCatalog(name: string) {
  const project = await open(name);
  return createSchemaCatalog({
    graphs: project.graphs,
    typeSchemas: createTypeSchemas(project.config.directory),
    onProblem(graphId, error) {
      throw new Error(`No schemas for ${graphId}`, { cause: error });
    },
  });
}

test("annotations get the types their author wrote, with unions, dates, optional fields and comments", async () => {
  const schemas = await (await openCatalog("typescript")).get("rich");
  const order = {
    type: "object",
    properties: {
      id: { type: "string" },
      amount: { type: "number", description: "In cents." },
      paid: { type: "boolean" },
      placedAt: { type: "string", format: "date-time" },
    },
    required: ["id", "amount", "placedAt"],
  };
  expect(schemas?.state_schema).toEqual({
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: {
      orders: { type: "array", items: order },
      status: { type: "string", enum: ["closed", "open"] },
      totals: { type: "object", properties: {}, additionalProperties: { type: "number" } },
      last: { anyOf: [{ type: "null" }, order] },
    },
    required: ["orders", "status", "totals", "last"],
  });
  expect(schemas?.input_schema).not.toHaveProperty("required");
  expect(schemas?.input_schema).toMatchObject({ properties: { orders: { type: "array", items: order } } });
});

test("a promise is followed to its graph", async () => {
  const schemas = await (await openCatalog("typescript")).get("configured");
  expect(schemas?.state_schema?.properties).toEqual({ answer: { type: "string" } });
  expect(schemas?.context_schema?.properties).toEqual({
    model: { type: "string", enum: ["large", "small"] },
    temperature: { type: "number" },
  });
});

test("messages stay messages beside typed fields, compiled or not", async () => {
  const catalog = await openCatalog("typescript");
  for (const graphId of ["agent", "uncompiled"]) {
    expect((await catalog.get(graphId))?.state_schema?.properties).toMatchObject({
      messages: { type: "array", langgraph_type: "messages" },
      visits: { type: "number" },
      city: { type: "string" },
    });
  }
});

test("a default export and a factory are followed to their graph", async () => {
  const catalog = await openCatalog("commonjs");
  for (const graphId of ["defaulted", "factory"]) {
    expect((await catalog.get(graphId))?.output_schema).toMatchObject({
      properties: { kind: { type: "string" }, sent: { type: "string" } },
    });
  }
});

test("plain JavaScript has the names of its channels", async () => {
  const schemas = await (await openCatalog("javascript")).get("plain");
  expect(schemas?.state_schema?.properties).toEqual({ answer: {} });
});

test("a compiler that does not answer is killed", async () => {
  const { API } = await import("typescript/unstable/async");
  const api = new API({ cwd: fixtures });
  const inside = (api as unknown as { client: { process?: ChildProcess } }).client;
  let child: ChildProcess | undefined;
  const held = withCompiler(api, 3_000, async () => {
    // Asked once it stands still: a quick one has answered an earlier question before it can be stopped.
    await api.updateSnapshot({});
    child = inside.process;
    child!.kill("SIGSTOP");
    return api.updateSnapshot({});
  });
  await expect(held).rejects.toThrow("the compiler took longer than 3 s");
  // On a machine so busy that it had not begun, there was nothing to kill yet.
  if (child === undefined) return;
  if (child.signalCode === null) await once(child, "exit");
  expect(child.signalCode).toBe("SIGKILL");
});

test("a compiler that takes too long is ended; the reason is reported, and later it is tried again", async () => {
  const project = await open("typescript");
  const problems: unknown[] = [];
  const hurried = createTypeSchemas(project.config.directory, { limitMs: 1 });
  const patient = createTypeSchemas(project.config.directory);
  let asked = 0;
  const catalog = createSchemaCatalog({
    graphs: project.graphs,
    typeSchemas: (...subject) => (asked++ === 0 ? hurried : patient)(...subject),
    onProblem: (_, error) => problems.push(error),
    retryMs: 0,
  });
  const first = await catalog.get("rich");
  expect(first?.problem).toMatch(
    /types of graph in .*rich-state\.ts were not read: the compiler took longer than/,
  );
  expect(first?.state_schema?.properties).toMatchObject({ status: {} });
  expect(problems).toHaveLength(1);
  await waitUntil(async () => (await catalog.get("rich"))?.problem === undefined, {
    what: "the types to be read again",
    timeoutMs: 60_000,
  });
  expect((await catalog.get("rich"))?.state_schema?.properties).toMatchObject({
    status: { type: "string", enum: ["closed", "open"] },
  });
  expect(asked).toBe(2);
});

test("the installed compiler is of the version that is known to answer", () => {
  // What it is asked through is marked unstable: after an update of TypeScript run the tests above, then name it here.
  expect(findInstalledPackage("typescript", fixtures)?.version).toMatch(/^7\.0\./);
});

describe("without a compiler that can be asked", () => {
  const api = (body: string) => `export const SymbolFlags = { Optional: 1 }; export class API { ${body} }`;
  test.each([
    ["there is none", undefined, /TypeScript is not installed next to the server/],
    ["it is an older one", { exports: {}, code: "" }, /TypeScript 9\.9\.9 .* does not have the type API/],
    [
      "it names things otherwise",
      { code: "export class Compiler {}" },
      /TypeScript 9\.9\.9 .* does not have the type API/,
    ],
    [
      "it does not start",
      { code: api("constructor() { throw new Error('no binary'); }") },
      /not read: no binary/,
    ],
    [
      "it takes other calls",
      { code: api("async close() {}") },
      /not read: .*updateSnapshot is not a function/,
    ],
  ])(
    "because %s, the schemas of the running graph are served, and the reason",
    async (_, installed, reason) => {
      const folder = await createTempFolder("compiler");
      onTestFinished(folder.remove);
      if (installed) {
        const directory = join(folder.path, "node_modules/typescript");
        await mkdir(directory, { recursive: true });
        const manifest = {
          version: "9.9.9",
          type: "module",
          exports: { "./unstable/async": "./api.js" },
          ...installed,
        };
        await writeFile(join(directory, "package.json"), JSON.stringify(manifest));
        await writeFile(join(directory, "api.js"), installed.code);
      }
      const configPath = `${fixtures}typescript/langgraph.json`;
      const project = await loadJavascriptProject({
        configPath,
        environment: {},
        applyEnvironment: () => undefined,
      });
      opened.push(project);
      const problems: unknown[] = [];
      const catalog = createSchemaCatalog({
        graphs: project.graphs,
        typeSchemas: createTypeSchemas(project.config.directory, {
          compilerOf: join(folder.path, "server.js"),
        }),
        onProblem: (_graphId, error) => problems.push(error),
      });
      const schemas = await catalog.get("rich");
      expect(schemas?.problem).toMatch(reason);
      expect(Object.keys(schemas?.state_schema?.properties ?? {})).toEqual([
        "orders",
        "status",
        "totals",
        "last",
      ]);
      expect(problems).toHaveLength(1);
    },
  );
});
