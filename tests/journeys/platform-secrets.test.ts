import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { forgetSecrets } from "../../src/config/index.ts";
import { secretSettings } from "../../src/config/parse-settings.ts";
import { createTestDatabase } from "../support/database.ts";
import { createDataParent, type RunningTreadle, startTreadle } from "../support/treadle.ts";

const apiKey = "the-operators-own-api-key";
const names = [...secretSettings, "SOME_PROVIDER_API_KEY", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY"];
/** Every setting that is a secret, so that a new one is known as such. */
const secrets: Record<string, string> = {
  ...Object.fromEntries(names.map((name) => [name, `hush-${name.toLowerCase()}-0123`])),
  TREADLE_API_KEY: apiKey,
  TREADLE_SMTP_URL: "smtp://me:hush-treadle-smtp-0123@127.0.0.1:25",
  // Nothing listens there: it is away.
  TREADLE_TRACES_URL: "http://me:hush-treadle-traces-0123@127.0.0.1:9/treadle",
};
const asOldNode = [
  "--import",
  `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.19.0"}})`,
];
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function start(nodeArgs: string[] = []): Promise<{ treadle: RunningTreadle; hidden: string[] }> {
  const parent = await createDataParent("platform-secrets");
  stops.push(() => parent.remove());
  const database = await createTestDatabase();
  stops.push(() => database.drop());
  const treadle = await startTreadle(["--data-dir", join(parent.path, "data")], {
    env: { ...secrets, TREADLE_SMTP_FROM: "treadle@example.com", DATABASE_URL: database.url },
    nodeArgs,
  });
  stops.push(() => treadle.stop());
  return { treadle, hidden: [...Object.values(secrets), database.url] };
}

async function expectClean(treadle: RunningTreadle, hidden: readonly string[]): Promise<void> {
  const environment = await readFile(`/proc/${treadle.ready.pid}/environ`, "utf8");
  expect(environment).toContain("TREADLE_LOG_LEVEL=warn");
  for (const value of hidden) expect(environment).not.toContain(value);
  expect(environment).not.toMatch(/TREADLE_API_KEY|DATABASE_URL/);
  const answer = await fetch(`${treadle.ready.url}/v2/workspaces`, { headers: { "x-api-key": apiKey } });
  expect(answer.status).toBe(200);
  expect(treadle.ready.database).toBe("external");
}

describe("secrets of the platform", () => {
  it("are not in the environment a running server shows, and are in force", { timeout: 60_000 }, async () => {
    const { treadle, hidden } = await start();
    await expectClean(treadle, hidden);
    const left = (await readdir("/dev/shm")).filter((name) => name.startsWith("treadle-"));
    for (const name of left) {
      const text = await readFile(join("/dev/shm", name, "environment"), "utf8").catch(() => "");
      expect(text).not.toContain(hidden.at(-1));
    }
    expect((await treadle.stop()).code).toBe(0);
  });

  it("go the same way where somebody chose Node's flags", { timeout: 60_000 }, async () => {
    const { treadle, hidden } = await start(["--max-semi-space-size=32"]);
    await expectClean(treadle, hidden);
  });

  it("go the same way from a launcher to the Node it starts", { timeout: 60_000 }, async () => {
    const { treadle, hidden } = await start(asOldNode);
    expect(treadle.ready.pid).not.toBe(treadle.pid);
    await expectClean(treadle, hidden);
    expect((await treadle.stop()).code).toBe(0);
  });

  it("are inherited by nothing the server starts", () => {
    const environment = { ...secrets, DATABASE_URL: "postgres://x", PATH: "/bin" };
    forgetSecrets(environment);
    for (const name of [...secretSettings, "DATABASE_URL"]) expect(environment).not.toHaveProperty(name);
    expect(environment).toHaveProperty("PATH", "/bin");
  });
});
