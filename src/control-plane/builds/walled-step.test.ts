import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { Walls } from "../sandbox/walls.ts";
import { runWalled, type StepPlace } from "./walled-step.ts";

let folder: TempFolder;
beforeAll(async () => {
  folder = await createTempFolder("walled-step");
});
afterAll(() => folder?.remove());

const walls = new Walls({ setting: "off", mustPass: [] });

async function placeFor(timeoutMs: number): Promise<StepPlace> {
  const folderOf = (name: string) => join(folder.path, name);
  for (const name of ["tree", "home", "tmp", "cache"]) await mkdir(folderOf(name), { recursive: true });
  return {
    ...{ user: undefined, reason: null, tree: folderOf("tree"), home: folderOf("home") },
    ...{ scratch: folderOf("tmp"), cache: folderOf("cache") },
    place: () => ({
      ...{ workFolder: folder.path, timeoutMs, signal: new AbortController().signal },
      onLine() {},
    }),
  };
}
const sleep = () => ({
  ...{ program: "/bin/sleep", args: ["60"], cwd: folder.path, command: "sleep" },
  ...{ environment: { PATH: "/usr/bin:/bin" }, mounts: [] },
});

it("a step that has less time than the build tells so, and the build goes on", async () => {
  const outcome = await runWalled(walls, { ...sleep(), timeoutMs: 100 }, await placeFor(30_000));
  expect(outcome).toMatchObject({ failed: true, ending: "it did not finish within 0.1 s" });
});

it("a step that takes all the time of the build ends it", async () => {
  await expect(runWalled(walls, { ...sleep(), timeoutMs: 60_000 }, await placeFor(100))).rejects.toThrow(
    "did not finish within",
  );
});

it("a step that fails tells how, with its last lines", async () => {
  const step = { ...sleep(), program: "/bin/sh", args: ["-c", "echo gone; exit 3"], command: "sh" };
  const outcome = await runWalled(walls, step, await placeFor(30_000));
  expect(outcome).toMatchObject({ failed: true, ending: "exit code 3", lines: ["gone"] });
});
