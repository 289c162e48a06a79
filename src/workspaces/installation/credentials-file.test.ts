import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { credentialsPath, readCredentials, writeCredentials } from "./credentials-file.ts";

let folder: TempFolder;
beforeAll(async () => {
  folder = await createTempFolder("credentials-file");
});
afterAll(() => folder.remove());

const credentials = { url: "http://127.0.0.1:8124", workspaceId: "a workspace", apiKey: "a key" };

test("what was written is read again, by its owner alone", async () => {
  const dataDir = join(folder.path, "new", "data");
  expect(await readCredentials(dataDir)).toBeNull();
  const path = await writeCredentials(dataDir, credentials);
  expect(await readCredentials(dataDir)).toEqual(credentials);
  expect(JSON.parse(await readFile(path, "utf8"))).toEqual({
    url: "http://127.0.0.1:8124",
    workspace_id: "a workspace",
    api_key: "a key",
  });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("an open file is closed by the next write, and nothing else is left behind", async () => {
  const dataDir = join(folder.path, "again");
  const path = await writeCredentials(dataDir, credentials);
  await writeFile(path, "{}", { mode: 0o644 });
  await writeCredentials(dataDir, { ...credentials, apiKey: "another key" });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(dataDir)).toEqual(["credentials.json"]);
});

test("a damaged file counts as none", async () => {
  const dataDir = join(folder.path, "damaged");
  await writeCredentials(dataDir, credentials);
  for (const text of ["", "{", "[]", '{"api_key": 1}']) {
    await writeFile(credentialsPath(dataDir), text);
    expect(await readCredentials(dataDir)).toBeNull();
  }
});
