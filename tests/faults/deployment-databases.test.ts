import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { dropOwnDatabase } from "../../src/platform/db/own-database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { type ChildProcess, spawnProcess } from "../support/components/process.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { insertDeployment, insertWorkspace } from "../support/deployment-rows.ts";

const script = fileURLToPath(new URL("../support/provision-child.ts", import.meta.url));
let test: TestDatabase;
let folder: TempFolder;
let workspaceId: string;
const children: ChildProcess[] = [];
const names: string[] = [];

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 4 });
  folder = await createTempFolder("databases");
  workspaceId = await insertWorkspace(test.database.sql);
});
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.stop()));
  for (const name of names.splice(0)) await dropOwnDatabase(test.database.sql, name);
});
afterAll(async () => {
  await test?.drop();
  await folder?.remove();
});

async function newDeployment({ deleted }: { deleted: boolean }): Promise<{ id: string; name: string }> {
  const id = await insertDeployment(test.database.sql, workspaceId);
  const name = `test_${id.replaceAll("-", "_")}`;
  names.push(name);
  await raw`update deployments set database_name = ${name}, deleted_at = ${deleted ? new Date() : null}
    where id = ${id}`.execute(test.database.sql);
  return { id, name };
}

/** Two processes, or more, that begin at once. */
async function runAll(each: { what: "make" | "purge"; ids: string[] }[]): Promise<void> {
  const started = each.map(({ what, ids }, index) => {
    const args = [script, test.url, folder.path, what, ...ids];
    return spawnProcess(process.execPath, args, { name: `${what} ${index}` });
  });
  children.push(...started);
  await Promise.all(started.map((child) => child.waitForLine(/^ready$/, 60_000)));
  for (const child of started) child.signal("SIGUSR2");
  await Promise.all(started.map((child) => child.waitForLine(/^done$/, 60_000)));
}

async function found(name: string): Promise<{ databases: number; roles: number }> {
  const { rows } = await raw<{ databases: number; roles: number }>`select
    (select count(*) from pg_database where datname = ${name})::int as databases,
    (select count(*) from pg_roles where rolname = ${name})::int as roles`.execute(test.database.sql);
  return rows[0]!;
}

describe("two processes", () => {
  it("that make the same database at once both succeed, and there is one", { timeout: 120_000 }, async () => {
    const all = [];
    for (let n = 0; n < 6; n += 1) all.push(await newDeployment({ deleted: false }));
    const ids = all.map(({ id }) => id);
    await runAll([
      { what: "make", ids },
      { what: "make", ids },
    ]);
    for (const { name } of all) expect(await found(name)).toEqual({ databases: 1, roles: 1 });
  });

  it("of which one makes what the other purges leave nothing behind", { timeout: 120_000 }, async () => {
    const all = [];
    for (let n = 0; n < 6; n += 1) all.push(await newDeployment({ deleted: true }));
    const ids = all.map(({ id }) => id);
    await runAll([
      { what: "make", ids },
      { what: "purge", ids },
      { what: "purge", ids },
    ]);
    for (const { name } of all) expect(await found(name)).toEqual({ databases: 0, roles: 0 });
  });
});
