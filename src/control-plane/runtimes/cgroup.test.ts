import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import pino from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { createProcessLimits, planGroups } from "./cgroup.ts";

const both = { memoryBytes: 268_435_456, cpus: 0.5 };

describe("limits", () => {
  it("of one tree are handed down from group to group", () => {
    expect(planGroups({ kind: "unified", controllers: ["cpu", "io", "memory"] }, "i", both)).toEqual([
      { folder: "", settings: [["cgroup.subtree_control", "+memory +cpu"]] },
      { folder: "treadle", settings: [["cgroup.subtree_control", "+memory +cpu"]] },
      {
        folder: "treadle/i",
        settings: [
          ["memory.max", "268435456"],
          ["cpu.max", "50000 100000"],
        ],
      },
    ]);
    const processors = planGroups({ kind: "unified", controllers: ["cpu"] }, "i", {
      memoryBytes: null,
      cpus: 2,
    });
    expect(processors.at(-1)!.settings).toEqual([["cpu.max", "200000 100000"]]);
  });

  it("of separate trees stand in each of them", () => {
    expect(planGroups({ kind: "separate" }, "i", both).map(({ folder }) => folder)).toEqual([
      "memory/treadle/i",
      "cpu/treadle/i",
    ]);
  });

  it("need their controllers", () => {
    const plan = () => planGroups({ kind: "unified", controllers: ["pids"] }, "i", both);
    expect(plan).toThrow("cgroup v2 has no memory and no cpu controller here");
  });
});

describe("setting them", () => {
  let root: TempFolder;
  const lines: string[] = [];
  const logger = pino(
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(chunk.toString());
        done();
      },
    }),
  );

  beforeAll(async () => {
    root = await createTempFolder("cgroup");
  });
  afterAll(() => root.remove());

  it("writes the limits before the process joins", async () => {
    const tree = join(root.path, "whole");
    await mkdir(tree);
    await writeFile(join(tree, "cgroup.controllers"), "cpuset cpu io memory pids\n");
    await createProcessLimits(logger, tree)("server", 4711, both);
    const read = (file: string) => readFile(join(tree, "treadle/server", file), "utf8");
    expect([await read("memory.max"), await read("cpu.max"), await read("cgroup.procs")]).toEqual([
      "268435456",
      "50000 100000",
      "4711",
    ]);
    expect(lines).toEqual([]);
  });

  it("says so once where it cannot, and lets the servers run", async () => {
    const tree = join(root.path, "poor");
    await mkdir(tree);
    await writeFile(join(tree, "cgroup.controllers"), "pids\n");
    const limit = createProcessLimits(logger, tree);
    await limit("unlimited", 4710, { memoryBytes: null, cpus: null });
    expect(lines).toEqual([]);
    for (const name of ["server", "another", "the first again"]) await limit(name, 4711, both);
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      instance: "server",
      msg: expect.stringContaining("run without them"),
      reason: "cgroup v2 has no memory and no cpu controller here",
    });
  });
});
