import { execFile } from "node:child_process";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { createTempFolder } from "../../../tests/support/components/temp-folder.ts";
import { clearLeftBuilds } from "./build-cleanup.ts";

it("removes what a build left however deep it is, so that the platform starts", async () => {
  const folder = await createTempFolder("build-cleanup");
  const left = join(folder.path, "builds", "one");
  await mkdir(left, { recursive: true });
  const dig =
    'for (let i = 0; i < 30; i++) { require("fs").mkdirSync("d".repeat(200)); process.chdir("d".repeat(200)); }';
  await promisify(execFile)(process.execPath, ["-e", dig], { cwd: left });
  await expect(rm(left, { recursive: true, force: true })).rejects.toMatchObject({ code: "ENAMETOOLONG" });
  await clearLeftBuilds(folder.path);
  expect(await readdir(join(folder.path, "builds"))).toEqual([]);
  await folder.remove();
});
