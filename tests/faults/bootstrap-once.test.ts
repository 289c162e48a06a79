import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import type { TempFolder } from "../support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createDataParent, type RunningTreadle, runTreadle, startTreadle } from "../support/treadle.ts";

let test: TestDatabase;
let parent: TempFolder;
const running: RunningTreadle[] = [];

beforeEach(async () => {
  test = await createTestDatabase();
  parent = await createDataParent("bootstrap-once");
});
afterEach(async () => {
  for (const treadle of running.splice(0)) await treadle.stop();
  await test.drop();
  await parent.remove();
});

const folderOf = (name: string) => join(parent.path, name);
const env = (more: Record<string, string> = {}) => ({
  DATABASE_URL: test.url,
  TREADLE_SECRET_KEY: "one secret key for all of them",
  ...more,
});

async function start(name: string): Promise<RunningTreadle> {
  const treadle = await startTreadle(["--data-dir", folderOf(name)], { env: env() });
  running.push(treadle);
  return treadle;
}

async function keys(): Promise<number> {
  const { rows } = await raw<{ count: number }>`select count(*)::int as count from api_keys`.execute(
    test.database.sql,
  );
  return rows[0]!.count;
}

const credentials = (name: string) =>
  readFile(join(folderOf(name), "credentials.json"), "utf8").then(
    (text) => (JSON.parse(text) as { api_key: string }).api_key,
    (error: NodeJS.ErrnoException) => error.code,
  );

describe("servers with empty data folders on one database", () => {
  it("that start at once make one administrator's key; the other says where it is", {
    timeout: 120_000,
  }, async () => {
    const both = await Promise.all([start("one"), start("two")]);
    expect(await keys()).toBe(1);
    const made = both.filter(({ ready }) => ready.api_key !== null);
    expect(made).toHaveLength(1);
    const [first] = made;
    const second = both.find((treadle) => treadle !== first)!;
    const path = join(first!.ready.data_dir, "credentials.json");
    expect(second.ready.notes.join("\n")).toContain(`is in ${path} there. Set TREADLE_API_KEY`);
    expect([await credentials("one"), await credentials("two")].sort()).toEqual(
      ["ENOENT", first!.ready.api_key].sort(),
    );
    // The key is good at both.
    for (const { ready } of both) {
      const headers = { "x-api-key": first!.ready.api_key! };
      expect((await fetch(`${ready.url}/v2/workspaces`, { headers })).status).toBe(200);
    }
    // Whoever starts again, with or without the file, makes none either.
    for (const treadle of running.splice(0)) await treadle.stop();
    expect((await start("one")).ready.api_key).toBeNull();
    expect((await start("three")).ready.api_key).toBeNull();
    expect(await keys()).toBe(1);
  });

  it("`migrate` makes the key before they start, once", { timeout: 120_000 }, async () => {
    const migrate = () =>
      runTreadle(["migrate", "--json", "--data-dir", folderOf("one")], { env: env() }).then(
        ({ stdout, stderr, code }) => {
          expect(stderr).toBe("");
          expect(code).toBe(0);
          return JSON.parse(stdout) as { api_key: string; workspace_id: string };
        },
      );
    const first = await migrate();
    expect(first.api_key).toBe("generated");
    expect(await migrate()).toEqual({ ...first, api_key: "known" });
    const server = await start("two");
    expect(server.ready).toMatchObject({ api_key: null, workspace_id: first.workspace_id });
    const headers = { "x-api-key": (await credentials("one"))! };
    expect((await fetch(`${server.ready.url}/v2/workspaces`, { headers })).status).toBe(200);
    expect(await keys()).toBe(1);
  });

  it("`migrate` without the encryption key only migrates", { timeout: 60_000 }, async () => {
    const { code } = await runTreadle(["migrate", "--data-dir", folderOf("one")], {
      env: { DATABASE_URL: test.url },
    });
    expect(code).toBe(0);
    expect(await keys()).toBe(0);
  });
});
