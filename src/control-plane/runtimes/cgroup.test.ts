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
    const foldersOf = (controllers: string[]) =>
      planGroups({ kind: "separate", controllers }, "i", both).map(({ folder }) => folder);
    expect(foldersOf(["cpu", "memory"])).toEqual(["memory/treadle/i", "cpu/treadle/i"]);
    expect(foldersOf(["cpu", "memory", "pids"])).toEqual([
      "memory/treadle/i",
      "cpu/treadle/i",
      "pids/treadle/i",
    ]);
  });

  it("count processes wherever the machine can, whatever else is asked for", () => {
    const none = { memoryBytes: null, cpus: null };
    expect(planGroups({ kind: "unified", controllers: ["cpu", "pids"] }, "i", none)).toEqual([
      { folder: "", settings: [["cgroup.subtree_control", "+pids"]] },
      { folder: "treadle", settings: [["cgroup.subtree_control", "+pids"]] },
      { folder: "treadle/i", settings: [["pids.max", "512"]] },
    ]);
    expect(planGroups({ kind: "separate", controllers: ["pids"] }, "i", none)).toEqual([
      { folder: "pids/treadle/i", settings: [["pids.max", "512"]] },
    ]);
    for (const kind of ["unified", "separate"] as const)
      expect(planGroups({ kind, controllers: ["cpu"] }, "i", none)).toEqual([]);
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
    expect(await createProcessLimits(logger, tree)("server", 4711, both)).toBeNull();
    const read = (file: string) => readFile(join(tree, "treadle/server", file), "utf8");
    const files = ["memory.max", "cpu.max", "pids.max", "cgroup.procs"];
    expect(await Promise.all(files.map(read))).toEqual(["268435456", "50000 100000", "512", "4711"]);
    expect(lines).toEqual([]);
  });

  it("says so once where it cannot, and lets the servers run", async () => {
    const tree = join(root.path, "poor");
    await mkdir(tree);
    await writeFile(join(tree, "cgroup.controllers"), "pids\n");
    const limit = createProcessLimits(logger, tree);
    await limit("unlimited", 4710, { memoryBytes: null, cpus: null });
    expect(lines).toEqual([]);
    const reason = "cgroup v2 has no memory and no cpu controller here";
    // Each caller learns of it: its owner's log is another one.
    for (const name of ["server", "another", "the first again"])
      expect(await limit(name, 4711, both)).toBe(reason);
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      instance: "server",
      msg: expect.stringContaining("run without them"),
      reason: "cgroup v2 has no memory and no cpu controller here",
    });
  });
});
