import { mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { findProgram } from "./find-program.ts";

let folder: TempFolder;
const at = (...parts: string[]) => join(folder.path, ...parts);

beforeAll(async () => {
  folder = await createTempFolder("find-program");
  for (const [name, mode] of [
    ["first", 0o644],
    ["second", 0o755],
    ["third", 0o755],
  ] as const) {
    await mkdir(at(name));
    await writeFile(at(name, "tool"), "#!/bin/sh\n", { mode });
  }
});
afterAll(() => folder?.remove());

describe("a program on PATH", () => {
  it("is the first that may be run", async () => {
    const path = [at("missing"), at("first"), at("second"), at("third")].join(":");
    expect(await findProgram("tool", path)).toBe(at("second", "tool"));
  });

  it("is none where no folder has it", async () => {
    expect(await findProgram("tool", `${at("first")}:${at("missing")}`)).toBeNull();
  });

  it("is not looked for in the folder one happens to be in", async () => {
    const name = relative(process.cwd(), at("second", "tool"));
    expect(await findProgram(name, ":")).toBeNull();
  });
});
