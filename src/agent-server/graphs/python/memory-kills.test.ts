import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../../tests/support/components/temp-folder.ts";
import { counterFiles, MemoryKills } from "./memory-kills.ts";

let folder: TempFolder;
beforeAll(async () => {
  folder = await createTempFolder("memory-kills");
});
afterAll(() => folder.remove());

describe("where the kernel counts", () => {
  const root = "/sys/fs/cgroup";
  const seen = [`${root}/memory/memory.oom_control`, `${root}/memory.events`];

  it.each([
    ["one tree", "0::/treadle/i\n", [`${root}/treadle/i/memory.events`, ...seen]],
    [
      "a tree for each kind",
      "12:cpu,cpuacct:/treadle/i\n9:memory:/treadle/i\n1:name=systemd:/\n",
      [`${root}/memory/treadle/i/memory.oom_control`, ...seen],
    ],
    ["behind walls", "9:memory:/\n", seen],
    ["no groups", "", seen],
  ])("is found: %s", (_, groups, files) => {
    expect(counterFiles(groups)).toEqual(files);
  });
});

describe("a kill", () => {
  it("is one for memory as often as the kernel counted, and not by what was counted before", async () => {
    const file = join(folder.path, "memory.events");
    const count = (kills: number) => writeFile(file, `max 9\noom 2\noom_kill ${kills}\n`);
    await count(2);
    const kills = new MemoryKills([file]);
    expect(kills.explainsKill()).toBe(false);
    await count(4);
    expect([kills.explainsKill(), kills.explainsKill(), kills.explainsKill()]).toEqual([true, true, false]);
    await count(5);
    kills.begin();
    expect(kills.explainsKill()).toBe(false);
  });

  it("is not explained where nothing can be read", () => {
    expect(new MemoryKills([join(folder.path, "none")]).explainsKill()).toBeNull();
  });
});
