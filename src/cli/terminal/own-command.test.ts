import { execFile } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { ownCommand, shellWord } from "./own-command.ts";

let folder: TempFolder;
beforeAll(async () => {
  folder = await createTempFolder("own-command");
});
afterAll(() => folder?.remove());

it("is the name where a shell finds it, and otherwise a command that works from any folder", async () => {
  const without = await ownCommand({ PATH: `/nowhere:${folder.path}` });
  expect(without).toMatch(/^node .*bin\/treadle\.js'?$/);
  const { stdout } = await promisify(execFile)("sh", ["-c", `${without} --version`], { cwd: folder.path });
  expect(stdout).toMatch(/^\d+\.\d+\.\d+/);

  const program = join(folder.path, "treadle");
  await writeFile(program, "#!/bin/sh\n", { mode: 0o644 });
  expect(await ownCommand({ PATH: folder.path })).toBe(without);
  await chmod(program, 0o755);
  expect(await ownCommand({ PATH: `/nowhere:${folder.path}` })).toBe("treadle");
});

it("quotes what a shell would read as several words", () => {
  expect(shellWord("my-agent")).toBe("my-agent");
  expect(shellWord("my agent's")).toBe("'my agent'\\''s'");
});
