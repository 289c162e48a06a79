import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../tests/support/components/temp-folder.ts";
import { readOwnUsage } from "./own-usage.ts";

let folder: TempFolder;
beforeEach(async () => {
  folder = await createTempFolder("own-usage");
});
afterEach(() => folder.remove());

const put = (name: string, text: string) => writeFile(join(folder.path, name), text);

describe("what a container has used", () => {
  it("is read from one tree of control groups", async () => {
    await put("cpu.stat", "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n");
    await put("memory.current", "5000\n");
    await put("memory.stat", "anon 3000\nfile 2000\ninactive_file 1500\n");
    expect(await readOwnUsage(folder.path)).toEqual({ cpuSeconds: 2.5, memoryBytes: 3_500 });
  });

  it("is read from a tree for each kind", async () => {
    await mkdir(join(folder.path, "cpuacct"));
    await mkdir(join(folder.path, "memory"));
    await put("cpuacct/cpuacct.usage", "1500000000\n");
    await put("memory/memory.usage_in_bytes", "5000\n");
    await put("memory/memory.stat", "cache 1\ninactive_file 7\ntotal_inactive_file 1000\n");
    expect(await readOwnUsage(folder.path)).toEqual({ cpuSeconds: 1.5, memoryBytes: 4_000 });
  });

  it("is that of the process where there is no container", async () => {
    const { cpuSeconds, memoryBytes } = await readOwnUsage(folder.path);
    expect(cpuSeconds).toBeGreaterThan(0);
    expect(memoryBytes).toBeGreaterThan(1_000_000);
  });
});
