import { chmod, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../../tests/support/components/temp-folder.ts";
import { hasItsPython, pythonMounts } from "./built-environment.ts";
import { Interpreters } from "./find-interpreters.ts";

let folder: TempFolder;
beforeAll(async () => {
  folder = await createTempFolder("interpreters");
});
afterAll(() => folder?.remove());

/** A program that answers as a Python would, and needs none. */
async function program(path: string, body: string): Promise<string> {
  const file = join(folder.path, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\n${body}\n`);
  await chmod(file, 0o755);
  return file;
}
const answers = (executable: string, version: number[]) =>
  `echo '${JSON.stringify({ executable, prefix: dirname(dirname(executable)), version })}'`;

async function python(path: string, version: number[]): Promise<string> {
  return program(path, answers(join(folder.path, path), version));
}

describe("the Pythons of a machine", () => {
  it("are those on PATH, then named ones, then fetched ones; a shim stands for another", async () => {
    const real = await python("versions/3.11/bin/python3.11", [3, 11, 7]);
    await program("shims/python3", answers(real, [3, 11, 7]));
    await program("shims/python3.12", "echo 'not in this version' >&2; exit 127");
    await program("shims/python3-config", "exit 1");
    const named = await python("named/bin/python3", [3, 13, 0]);
    const fetched = await python("fetched/cpython-3.14/bin/python3.14", [3, 14, 1]);
    const interpreters = new Interpreters({
      environment: { PATH: `${join(folder.path, "shims")}:${join(folder.path, "nowhere")}` },
      named: [join(folder.path, "named"), join(folder.path, "missing/python3")],
      fetched: join(folder.path, "fetched"),
    });
    const { usable, unusable } = await interpreters.find({ forOthers: false });
    expect(usable.map(({ executable, version, from }) => [executable, version.join("."), from])).toEqual([
      [real, "3.11.7", "PATH"],
      [named, "3.13.0", "TREADLE_PYTHONS"],
      [fetched, "3.14.1", "fetched by uv"],
    ]);
    expect(unusable).toEqual([
      { path: join(folder.path, "shims/python3.12"), reason: "not in this version" },
      { path: join(folder.path, "missing/python3"), reason: "not there" },
    ]);
    // Interpreters that a build fetches do not change the key of its artifact.
    expect((await interpreters.describe()).join("\n")).not.toContain("fetched");
  });

  it("are not those that users of deployments cannot reach", async () => {
    const path = await python("closed/bin/python3", [3, 12, 0]);
    await chmod(join(folder.path, "closed"), 0o700);
    const interpreters = new Interpreters({ environment: {}, named: [path], fetched: "/nowhere" });
    expect((await interpreters.find({ forOthers: false })).usable).toHaveLength(1);
    const { usable, unusable } = await interpreters.find({ forOthers: true });
    expect(usable).toEqual([]);
    expect(unusable[0]!.reason).toMatch(/^users of deployments cannot access /);
  });
});

describe("the environment of a built project", () => {
  async function built(name: string, target: string): Promise<string> {
    const place = join(folder.path, name);
    await mkdir(join(place, "app/.venv/bin"), { recursive: true });
    await symlink(target, join(place, "app/.venv/bin/python"));
    return place;
  }
  const config = "app/langgraph.json";

  it("shows a server the Python it was made with, and no other place it may lead to", async () => {
    const path = await python("own/bin/python3.12", [3, 12, 0]);
    const interpreters = new Interpreters({ environment: {}, named: [path], fetched: "/nowhere" });
    const mounts = async (target: string, name: string) =>
      pythonMounts(interpreters, await built(name, target), config);
    expect(await mounts(path, "good")).toEqual([{ from: join(folder.path, "own") }]);
    const secret = await program("secret/bin/python3.12", answers(path, [3, 12, 0]));
    expect(await mounts(secret, "hostile")).toEqual([]);
    expect(await pythonMounts(interpreters, folder.path, config)).toEqual([]);
  });

  it("is of no use once its Python is gone", async () => {
    const path = await python("gone/bin/python3.12", [3, 12, 0]);
    const place = await built("left", path);
    expect(await hasItsPython(place, config)).toBe(true);
    await rm(path);
    expect(await hasItsPython(place, config)).toBe(false);
    expect(await hasItsPython(folder.path, config)).toBe(true);
  });
});
