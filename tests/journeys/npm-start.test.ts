import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { descendantsOf, isRunning, killAll } from "../support/components/process-table.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";
import { createDataParent, startTreadle } from "../support/treadle.ts";
import { createClient, writeProject } from "../support/treadle-client.ts";

const apiKey = "the-operators-own-api-key";
const secrets = {
  TREADLE_API_KEY: apiKey,
  TREADLE_SECRET_KEY: "the-operators-own-encryption-key",
  TREADLE_WEBHOOK_SECRET: "the-operators-own-webhook-secret",
  SOME_MODEL_API_KEY: "the-operators-own-model-key",
  SOME_SERVICE_URL: "https://somebody:the-operators-own-password@service.example/",
};

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** The platform as a newcomer starts it, with one deployment. */
async function startWithDeployment() {
  const parent = await createDataParent("npm-start");
  undo.push(() => parent.remove());
  const dataDir = join(parent.path, "data");
  const treadle = await startTreadle(["--data-dir", dataDir], { env: secrets, throughNpm: true });
  undo.push(() => killAll([treadle.ready.pid, ...descendantsOf(treadle.ready.pid)]));
  const client = createClient(parent.path, {
    TREADLE_URL: treadle.ready.url,
    TREADLE_API_KEY: apiKey,
    TREADLE_WORKSPACE_ID: treadle.ready.workspace_id,
  });
  const project = await writeProject(join(parent.path, "quick"), quickProject("quick"));
  const { url } = await client.json<{ url: string }>(["deploy", "--install-command", quickInstall], {
    cwd: project,
  });
  return { treadle, dataDir, url, below: descendantsOf(treadle.ready.pid) };
}

const commandOf = (pid: number) => readFile(`/proc/${pid}/cmdline`, "utf8");

describe("npm start", { timeout: 180_000 }, () => {
  it("shows no secret of the platform in any environment, and stops in order when npm is asked to", async () => {
    const { treadle, dataDir, url, below } = await startWithDeployment();
    expect(treadle.pid).not.toBe(treadle.ready.pid);
    const commands = await Promise.all(below.map(commandOf));
    expect(commands.some((command) => command.includes("postgres"))).toBe(true);
    expect(commands.some((command) => command.includes("treadle.js\0agent"))).toBe(true);
    for (const pid of [treadle.ready.pid, ...below]) {
      const environment = await readFile(`/proc/${pid}/environ`, "utf8");
      for (const value of Object.values(secrets)) expect(environment).not.toContain(value);
    }
    const seen = await (await fetch(`${url}/environment`, { headers: { "x-api-key": apiKey } })).text();
    expect(seen).toContain("PATH");
    for (const value of Object.values(secrets)) expect(seen).not.toContain(value);

    treadle.signal("SIGTERM");
    const exit = await treadle.exited;
    expect(exit, exit.stderr).toMatchObject({ code: 0 });
    expect(exit.stdout).toContain('"stopped":true');
    expect([treadle.ready.pid, ...below].filter(isRunning)).toEqual([]);
    expect(existsSync(join(dataDir, "runtime.json"))).toBe(false);
  });
});
