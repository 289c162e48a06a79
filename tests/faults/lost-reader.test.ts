import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { createDataParent, treadleBin } from "../support/treadle.ts";

test("a server whose terminal is gone goes on, and ends in order when it is told to", async () => {
  const parent = await createDataParent("unheard");
  const { PATH = "", HOME = "/" } = process.env;
  const args = ["up", "--json", "--port", "0", "--data-dir", join(parent.path, "unheard")];
  const child = spawn(process.execPath, [treadleBin, ...args], {
    env: { PATH, HOME, TREADLE_LOG_LEVEL: "debug" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  try {
    const logged = createInterface(child.stderr);
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    const { url } = JSON.parse(line) as { url: string };
    const heard = once(logged, "line");
    expect((await fetch(`${url}/info`)).status).toBe(200);
    await heard;

    child.stdout.destroy();
    child.stderr.destroy();
    for (let n = 0; n < 5; n += 1) expect((await fetch(`${url}/info`)).status).toBe(200);
    child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
  } finally {
    child.kill("SIGKILL");
    await parent.remove();
  }
});
