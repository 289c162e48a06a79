import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";

let temp: TempFolder;
let root: string;

beforeEach(async () => {
  temp = await createTempFolder("folders");
  root = join(temp.path, "deployments");
});
afterEach(() => temp.remove());

/** In a process of its own, whose umask and user are its own. */
async function prepare(umask: number, user: { uid?: number; gid?: number } = {}): Promise<void> {
  if (user.uid !== undefined) await chown(temp.path, user.uid, user.gid!);
  const script = `process.umask(${umask});
    const { prepareDeploymentFolders } = await import(${JSON.stringify(new URL("./data-folders.ts", import.meta.url).href)});
    await prepareDeploymentFolders(${JSON.stringify(root)});`;
  const args = ["--input-type=module", "-e", script];
  const child = spawn(process.execPath, args, { stdio: "inherit", cwd: "/", ...user });
  expect(await once(child, "exit")).toEqual([0, null]);
}
const modeOf = async (name = "") => ((await stat(join(root, name))).mode & 0o777).toString(8);

describe("the folders of deployments", () => {
  for (const umask of [0o000, 0o022, 0o077]) {
    it(`are passable for root's users and closed where nobody passes, with umask ${umask.toString(8)}`, async () => {
      if (process.getuid?.() !== 0)
        throw new Error("Modes for other users are root's: run these tests as root.");
      await prepare(umask);
      for (const name of ["", "artifacts", "homes", "instances", "builds", "cache"]) {
        expect([name, await modeOf(name)]).toEqual([name, "711"]);
      }
      for (const name of ["uploads", "logs", "polls", "installed"])
        expect([name, await modeOf(name)]).toEqual([name, "700"]);
    });

    it(`are closed altogether for an ordinary user, with umask ${umask.toString(8)}`, async () => {
      await prepare(umask, process.getuid?.() === 0 ? { uid: 12_345, gid: 12_345 } : {});
      for (const name of ["", "artifacts", "homes", "uploads", "logs", "cache"]) {
        expect([name, await modeOf(name)]).toEqual([name, "700"]);
      }
    });
  }

  it("are set right when an upload came first and closed them, or somebody opened them", async () => {
    await mkdir(join(root, "uploads", "x"), { recursive: true, mode: 0o700 });
    await mkdir(join(root, "logs"));
    await chmod(join(root, "logs"), 0o777);
    await prepare(0o022);
    expect(await modeOf()).toBe(process.getuid?.() === 0 ? "711" : "700");
    expect(await modeOf("logs")).toBe("700");
  });
});
