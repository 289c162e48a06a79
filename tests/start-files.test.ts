import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTempFolder, type TempFolder } from "./support/components/temp-folder.ts";

type FindEntry = (root: string) => string | undefined;

// Plain JavaScript without types: it must load on any Node.
const place = new URL("../bin/find-entry.js", import.meta.url).href;
const { findEntry } = (await import(place)) as { findEntry: FindEntry };
let folder: TempFolder;

const at = (path: string) => join(folder.path, path);

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(at(path)), { recursive: true });
  await writeFile(at(path), text);
}

async function recordInputs(paths: readonly string[]): Promise<void> {
  const facts = paths.map(async (path) => {
    const { size, mtimeMs } = await stat(at(path));
    return [path, [size, mtimeMs]];
  });
  await write("dist/start/inputs.json", JSON.stringify(Object.fromEntries(await Promise.all(facts))));
}

const entry = () => findEntry(folder.path)?.slice(folder.path.length + 1);

beforeEach(async () => {
  folder = await createTempFolder("start-files");
  await write("src/main.ts", "1");
  await write("src/app/part.ts", "1");
  await write("dist/start/main.js", "1");
  await recordInputs(["src/main.ts", "src/app/part.ts"]);
});
afterEach(() => folder.remove());

test("joined files are used while the sources are as they were", () => {
  expect(entry()).toBe("dist/start/main.js");
});

test.each([
  ["a source was edited", () => write("src/app/part.ts", "changed")],
  ["a source was removed", () => rm(at("src/app/part.ts"))],
  ["they are half written", () => rm(at("dist/start/inputs.json"))],
  ["what they were made of cannot be read", () => write("dist/start/inputs.json", "{")],
  ["there are none", () => rm(at("dist/start"), { recursive: true })],
])("the sources are used when %s", async (_case, change) => {
  await change();
  expect(entry()).toBe("src/main.ts");
});

test("a package has no sources: joined files are used, or its modules", async () => {
  await rm(at("src"), { recursive: true });
  await write("dist/main.js", "1");
  expect(entry()).toBe("dist/start/main.js");
  await rm(at("dist/start"), { recursive: true });
  expect(entry()).toBe("dist/main.js");
});

test("without any of them there is nothing to begin with", async () => {
  await rm(at("src"), { recursive: true });
  await rm(at("dist"), { recursive: true });
  expect(entry()).toBeUndefined();
});
