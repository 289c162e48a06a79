import { Agent, request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { TempFolder } from "../support/components/temp-folder.ts";
import { prepareDataDir } from "../support/prepared-data.ts";
import { createDataParent, startTreadle } from "../support/treadle.ts";

// Real servers on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

let parent: TempFolder;
beforeAll(async () => {
  parent = await createDataParent("leave faults");
});
afterAll(() => parent.remove());

test("SIGTERM serves on first: a POST on a kept connection never fails, and Ctrl-C does not wait", async () => {
  const dataDir = await prepareDataDir(join(parent.path, "takes leave"));
  const env = { TREADLE_SHUTDOWN_LEAVE_SECONDS: "3" };
  const treadle = await startTreadle(["--data-dir", dataDir], { env });
  const kept = new Agent({ keepAlive: true, maxSockets: 4 });
  type Seen = { status?: number; closes?: boolean; reused: boolean; failed?: string };
  const post = () =>
    new Promise<Seen>((resolve) => {
      const headers = { "content-type": "application/json" };
      const asked = request(`${treadle.ready.url}/threads`, { method: "POST", headers, agent: kept });
      asked.on("response", (response) => {
        const closes = response.headers.connection === "close";
        response.resume();
        response.on("end", () =>
          resolve({ status: response.statusCode!, closes, reused: asked.reusedSocket }),
        );
      });
      asked.on("error", (error) => resolve({ failed: error.message, reused: asked.reusedSocket }));
      asked.end("{}");
    });
  for (let count = 0; count < 20; count += 1) expect(await post()).toMatchObject({ status: 200 });
  const seen: Seen[] = [];
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      const answer = await post();
      seen.push(answer);
      isOver ||= answer.status !== 200;
    }
  };
  treadle.signal("SIGTERM");
  const begun = performance.now();
  await Promise.all([client(), client(), client(), client()]);
  expect(performance.now() - begun).toBeGreaterThan(2_500);
  expect((await treadle.exited).code).toBe(0);
  kept.destroy();
  expect(seen.filter(({ failed, reused }) => failed !== undefined && reused)).toEqual([]);
  const served = seen.filter(({ status }) => status === 200);
  expect(served.length).toBeGreaterThan(50);
  expect(served.filter(({ closes }) => !closes).length).toBeLessThanOrEqual(4);

  const impatient = await startTreadle(["--data-dir", dataDir], {
    env: { TREADLE_SHUTDOWN_LEAVE_SECONDS: "600" },
  });
  impatient.signal("SIGINT");
  expect((await impatient.exited).code).toBe(0);
});
