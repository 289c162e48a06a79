import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { prepareDataFolder, readRuntimeFile, removeRuntimeFile, writeRuntimeFile } from "./data-folder.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle data "));
});
afterEach(() => rm(folder, { recursive: true }));

describe("prepare", () => {
  test("makes the folder and those above it, unreadable for others, and leaves it empty", async () => {
    const path = join(folder, "deep", "data");
    expect(await prepareDataFolder(path)).toEqual({ created: true });
    expect((await stat(path)).mode & 0o066).toBe(0);
    expect(await readdir(path)).toEqual([]);
  });

  test("keeps the mode of a folder that exists", async () => {
    const path = join(folder, "existing");
    await mkdir(path, { mode: 0o755 });
    expect(await prepareDataFolder(path)).toEqual({ created: false });
    expect((await stat(path)).mode & 0o777).toBe(0o755);
  });

  test("a file in the way is named", async () => {
    const file = join(folder, "file");
    await writeFile(file, "");
    for (const path of [file, join(file, "data")]) {
      await expect(prepareDataFolder(path)).rejects.toMatchObject({
        code: "data_folder.unusable",
        message: expect.stringContaining(`${path} cannot be created: it, or a folder above it, is a file`),
      });
    }
  });
});

describe("runtime file", () => {
  const runtime = { pid: 1, url: "http://127.0.0.1:1", port: 1, databaseUrl: "postgres://127.0.0.1:2/x" };

  test("is read back as written, closed to others", async () => {
    await writeRuntimeFile(folder, runtime);
    expect(await readRuntimeFile(folder)).toEqual(runtime);
    expect((await stat(join(folder, "runtime.json"))).mode & 0o777).toBe(0o600);
  });

  test("is null once removed, and removing twice is fine", async () => {
    await writeRuntimeFile(folder, runtime);
    await removeRuntimeFile(folder);
    await removeRuntimeFile(folder);
    expect(await readRuntimeFile(folder)).toBeNull();
  });
});
