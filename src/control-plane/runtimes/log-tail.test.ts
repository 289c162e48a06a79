import { randomUUID } from "node:crypto";
import { appendFile, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { createLogger } from "../../platform/logger.ts";
import { readLogs } from "../logs/log-store.ts";
import type { Announced, Instance } from "./instance.ts";
import { insertInstance, readInstance } from "./instance-store.ts";
import { followLog } from "./log-tail.ts";

let test: TestDatabase;
let folder: TempFolder;
const deploymentId = randomUUID();
const revisionId = randomUUID();

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 3 });
  folder = await createTempFolder("log-tail");
  const { sql } = test.database;
  const organization = randomUUID();
  const workspace = randomUUID();
  await raw`insert into organizations (id, name) values (${organization}, 'o')`.execute(sql);
  await raw`insert into workspaces (id, organization_id, name) values (${workspace}, ${organization}, 'w')`.execute(
    sql,
  );
  await raw`insert into deployments (id, workspace_id, name, slug, source, source_config, source_revision_config,
      secrets_sealed, database_name, database_password_sealed)
    values (${deploymentId}, ${workspace}, 'd', 'd', 'github', '{}', '{}', '', 'x', '')`.execute(sql);
  await raw`insert into revisions (id, deployment_id, workspace_id, number, status, source, source_revision_config,
      build_config, secrets_sealed)
    values (${revisionId}, ${deploymentId}, ${workspace}, 1, 'DEPLOYED', 'github', '{}', '{}', '')`.execute(
    sql,
  );
});

afterAll(async () => {
  await test?.drop();
  await folder?.remove();
});

async function newInstance(): Promise<Instance> {
  const id = randomUUID();
  const row = {
    ...{ id, deployment_id: deploymentId, revision_id: revisionId, runtime: "process", attempt: 1, port: 1 },
    ...{ log_path: join(folder.path, `${id}.log`), database_hash: "", tracing_key_id: null },
  };
  await insertInstance(test.database.sql, row, new Date());
  return (await readInstance(test.database.sql, id))!;
}

function follow(
  instance: Instance,
  more: { onAnnounced?(said: Announced): void; maxFileBytes?: number } = {},
) {
  const { database } = test;
  const logger = createLogger({ level: "silent" });
  return followLog({
    ...{ database, clock: systemClock, logger, instance, secrets: ["hush-hush"] },
    onAnnounced() {},
    ...more,
  });
}

const lines = async () =>
  (await readLogs(test.database.sql, { deploymentId, kind: "deploy", order: "asc", limit: 10_000 })).map(
    ({ message }) => message,
  );
const until = (text: string) =>
  waitUntil(async () => (await lines()).includes(text), { what: `the line ${text}`, timeoutMs: 10_000 });

describe("a server's log", () => {
  it("is stored line by line, without secrets, and goes on after a restart where it stopped", async () => {
    const instance = await newInstance();
    await appendFile(instance.log_path, "one\ntwo with hush-hush inside\nhalf a");
    const first = follow(instance);
    await until("two with ******** inside");
    await first.stop();
    await appendFile(instance.log_path, "\nthree\n");
    const second = follow((await readInstance(test.database.sql, instance.id))!);
    await until("three");
    await second.stop();
    const all = await lines();
    for (const line of ["one", "three"]) expect(all.filter((found) => found === line)).toHaveLength(1);
  });

  it("tells what a server announces", async () => {
    const instance = await newInstance();
    const said: Announced[] = [];
    const tail = follow(instance, { onAnnounced: (announced) => said.push(announced) });
    await appendFile(instance.log_path, '{"url":"http://127.0.0.1:1","graphs":["a"],"broken":{"b":"no"}}\n');
    await waitUntil(() => said.length === 1, { what: "the announcement", timeoutMs: 10_000 });
    await tail.stop();
    expect(said).toEqual([{ graphs: ["a"], broken: { b: "no" } }]);
    expect((await readInstance(test.database.sql, instance.id))!.announced).toEqual(said[0]);
  });

  it("begins anew when its file is large, keeps the piece before, and loses no line", async () => {
    const instance = await newInstance();
    const tail = follow(instance, { maxFileBytes: 1_000 });
    await appendFile(instance.log_path, `${"x".repeat(1_200)}\nlast of the first\n`);
    await until("last of the first");
    await waitUntil(async () => (await stat(instance.log_path)).size === 0, {
      what: "the cut",
      timeoutMs: 10_000,
    });
    expect(await readFile(`${instance.log_path}.1`, "utf8")).toContain("last of the first");
    await appendFile(instance.log_path, "first of the second\n");
    await until("first of the second");
    await tail.stop();
  });
});
