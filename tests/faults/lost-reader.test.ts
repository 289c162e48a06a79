import { spawn } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TempFolder } from "../support/components/temp-folder.ts";
import { createDataParent, treadleBin } from "../support/treadle.ts";

let parent: TempFolder;
beforeAll(async () => {
  parent = await createDataParent("unheard");
});
afterAll(() => parent?.remove());

function launch(name: string, stderr: "pipe" | number) {
  const { PATH = "", HOME = "/" } = process.env;
  const args = ["up", "--json", "--port", "0", "--data-dir", join(parent.path, name)];
  const child = spawn(process.execPath, [treadleBin, ...args], {
    env: { PATH, HOME, TREADLE_LOG_LEVEL: "debug" },
    stdio: ["ignore", "pipe", stderr],
  });
  const exited = once(child, "exit");
  return {
    child,
    async ready(): Promise<string> {
      const [line] = (await once(createInterface(child.stdout!), "line")) as [string];
      return (JSON.parse(line) as { url: string }).url;
    },
    /** Each request is a log line. */
    async servesAndStops(url: string): Promise<void> {
      for (let n = 0; n < 5; n += 1) expect((await fetch(`${url}/info`)).status).toBe(200);
      child.kill("SIGTERM");
      expect(await exited).toEqual([0, null]);
    },
  };
}

test("a server whose terminal is gone goes on, and ends in order when it is told to", async () => {
  const { child, ready, servesAndStops } = launch("terminal", "pipe");
  try {
    const logged = createInterface(child.stderr!);
    const url = await ready();
    const heard = once(logged, "line");
    expect((await fetch(`${url}/info`)).status).toBe(200);
    await heard;
    child.stdout!.destroy();
    child.stderr!.destroy();
    await servesAndStops(url);
  } finally {
    child.kill("SIGKILL");
  }
});

test("a server whose log has no room goes on, and ends in order when it is told to", async () => {
  const full = await open("/dev/full", "w");
  const { child, ready, servesAndStops } = launch("log", full.fd);
  try {
    await servesAndStops(await ready());
  } finally {
    child.kill("SIGKILL");
    await full.close();
  }
});
