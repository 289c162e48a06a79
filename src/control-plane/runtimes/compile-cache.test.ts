import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { compileCacheName, seedCompileCache } from "./compile-cache.ts";

const isRoot = process.getuid?.() === 0;
let folder: TempFolder;
let from: string;
let home: string;
beforeEach(async () => {
  folder = await createTempFolder("compile-cache");
  from = join(folder.path, "compiled");
  home = join(folder.path, "home");
  await mkdir(join(from, "v24.1.0-x64-0a1b2c3d-0"), { recursive: true });
  await mkdir(home);
  await writeFile(join(from, "v24.1.0-x64-0a1b2c3d-0", "entry"), "code", { mode: 0o600 });
});
afterEach(() => folder.remove());

test("a home gets a copy where the Node of its user looks for it, which that user alone may read", async () => {
  const owner = isRoot ? { uid: 345_678, gid: 345_679 } : null;
  await seedCompileCache(from, home, owner);
  const uid = owner?.uid ?? process.getuid!();
  const copied = join(home, compileCacheName, `v24.1.0-x64-0a1b2c3d-${uid}`);
  expect(await readFile(join(copied, "entry"), "utf8")).toBe("code");
  const gid = owner?.gid ?? process.getgid!();
  for (const path of [join(home, compileCacheName), copied, join(copied, "entry")])
    expect(await stat(path)).toMatchObject({ uid, gid });
  expect((await stat(join(home, compileCacheName))).mode & 0o777).toBe(0o700);
  expect((await stat(join(copied, "entry"))).mode & 0o777).toBe(0o600);
  // Changes that a deployment makes to its copy do not reach other copies.
  await writeFile(join(copied, "entry"), "changed");
  expect(await readFile(join(from, "v24.1.0-x64-0a1b2c3d-0", "entry"), "utf8")).toBe("code");
  expect((await stat(from)).uid).toBe(process.getuid?.());
});

test.runIf(isRoot)("files that only root may write are shared with users who may read them", async () => {
  const original = join(from, "v24.1.0-x64-0a1b2c3d-0", "entry");
  const owner = { uid: 345_678, gid: 345_679 };
  const seeded = async (name: string, mode: number) => {
    await chmod(original, mode);
    const path = join(folder.path, name);
    await mkdir(path);
    await seedCompileCache(from, path, owner);
    return stat(join(path, compileCacheName, `v24.1.0-x64-0a1b2c3d-${owner.uid}`, "entry"));
  };
  const { ino } = await stat(original);
  // One that stays root's own is the only one that may be shared: its mode is not the deployment's to change.
  expect(await seeded("shared", 0o644)).toMatchObject({ ino, uid: 0 });
  expect((await seeded("hidden", 0o640)).uid).toBe(owner.uid);
  expect((await seeded("of a group", 0o664)).uid).toBe(owner.uid);
  expect((await seeded("of all", 0o646)).uid).toBe(owner.uid);
  expect(await stat(original)).toMatchObject({ ino, uid: 0 });
});

test("a home in which something lies there already is refused, not followed", async () => {
  await mkdir(join(home, compileCacheName));
  await expect(seedCompileCache(from, home, null)).rejects.toMatchObject({ code: "EEXIST" });
});
