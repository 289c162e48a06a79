import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { createKeyFile, readKeyFile, replaceKeyFile, secretKeyPath } from "./secret-key-file.ts";

let folder: TempFolder;
beforeAll(async () => {
  folder = await createTempFolder("secret-key-file");
});
afterAll(() => folder.remove());

test("without a file there is no key", async () => {
  expect(await readKeyFile(secretKeyPath(join(folder.path, "none")))).toBeNull();
});

test("processes that start at once agree on one key, readable by its owner alone", async () => {
  const dataDir = join(folder.path, "at-once");
  const path = secretKeyPath(dataDir);
  const created = await Promise.all(Array.from({ length: 8 }, () => createKeyFile(path)));
  expect(new Set(created.map((file) => file.current)).size).toBe(1);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(dataDir)).toEqual(["secret.key"]);
});

test("an existing file is never overwritten", async () => {
  const dataDir = join(folder.path, "existing");
  await mkdir(dataDir);
  const path = secretKeyPath(dataDir);
  await writeFile(path, "the operator's own key\n");
  expect(await createKeyFile(path)).toEqual({ current: "the operator's own key", previous: [] });
  expect(await readFile(path, "utf8")).toBe("the operator's own key\n");
});

test("a rotation replaces the file with both keys", async () => {
  const path = secretKeyPath(join(folder.path, "rotate"));
  const { current } = await createKeyFile(path);
  await replaceKeyFile(path, { current: "the next key of this file", previous: [current] });
  expect(await readKeyFile(path)).toEqual({ current: "the next key of this file", previous: [current] });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("an empty or cut file is named, not replaced", async () => {
  const dataDir = join(folder.path, "empty");
  await mkdir(dataDir);
  const path = secretKeyPath(dataDir);
  for (const text of ["", "short\n"]) {
    await writeFile(path, text);
    await expect(readKeyFile(path)).rejects.toMatchObject({
      code: "secret.key_file",
      message: expect.stringContaining(path),
    });
    expect(await readFile(path, "utf8")).toBe(text);
  }
});
