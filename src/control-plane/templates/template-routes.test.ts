import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../../../tests/support/app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(() => app?.stop());

type Template = { name: string; title: string; files: { path: string; text: string }[] };

const textOf = (template: Template, wanted: string) =>
  template.files.find(({ path }) => path === wanted)!.text;

const templatesFor = async (name: string) =>
  (await app.call<Template[]>("GET", `/v2/templates?project_name=${encodeURIComponent(name)}`)).body;

it("lists the projects of `treadle new` with their files, under the names they have in a project", async () => {
  const [typescript, python] = await templatesFor("My Agent!");
  expect(typescript).toMatchObject({ name: "typescript", title: "Agent in TypeScript" });
  expect(typescript!.files.map(({ path }) => path)).toEqual([
    ".env",
    ".gitignore",
    "README.md",
    "langgraph.json",
    "package-lock.json",
    "package.json",
    "src/agent.ts",
    "src/model.ts",
    "src/tools.ts",
  ]);
  expect(python!.files.map(({ path }) => path)).toContain("agent/graph.py");
});

it("puts the project's name into them, as npm and Python take it", async () => {
  const [typescript, python] = await templatesFor("My Agent!");
  expect(JSON.parse(textOf(typescript!, "package.json"))).toMatchObject({ name: "my-agent" });
  expect(textOf(python!, "pyproject.toml")).toContain('name = "my-agent"');
  expect(JSON.stringify([typescript, python])).not.toContain("PROJECT_NAME");
});

it("locks the packages to the versions that Treadle itself is tested with", async () => {
  const [typescript] = await templatesFor("My Agent!");
  const manifest = JSON.parse(textOf(typescript!, "package.json"));
  const lock = JSON.parse(textOf(typescript!, "package-lock.json"));
  // `npm ci` refuses a lock file that disagrees with the manifest.
  expect(lock.packages[""]).toEqual({ name: "my-agent", dependencies: manifest.dependencies });
  const own = JSON.parse(await readFile(new URL("../../../package.json", import.meta.url), "utf8"));
  for (const [name, range] of Object.entries<string>(manifest.dependencies)) {
    expect({ name, range }).toEqual({ name, range: `^${own.dependencies[name]}` });
    expect(lock.packages[`node_modules/${name}`].version).toBe(own.dependencies[name]);
  }
});
