import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, it } from "vitest";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import type { Database } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { createLogger } from "../../platform/logger.ts";
import { deleteDomain, domainChannel, insertDomain, saveVerified } from "./domain-store.ts";
import { DomainTable } from "./domain-table.ts";

const soon = { timeoutMs: 5_000, what: "the notice of the other process" };
let test: TestDatabase;
let table: DomainTable;
let reads = 0;
let workspaceId: string;
let deploymentId: string;

beforeEach(async () => {
  test = await createTestDatabase();
  reads = 0;
  const counting = new Proxy(test.database, {
    get(target, name) {
      if (name === "sql") reads += 1;
      const value = target[name as keyof Database] as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  table = new DomainTable({ database: counting, logger: createLogger({ level: "silent" }) });
  [workspaceId, deploymentId] = [randomUUID(), randomUUID()];
  const { sql } = test.database;
  const organizationId = randomUUID();
  await raw`insert into organizations (id, name) values (${organizationId}, 'o')`.execute(sql);
  await raw`insert into workspaces (id, organization_id, name) values (${workspaceId}, ${organizationId}, 'w')`.execute(
    sql,
  );
  await raw`
    insert into deployments (id, workspace_id, name, slug, source, source_config, source_revision_config, secrets_sealed,
      shareable, route_through_gateway, database_name, database_password_sealed, created_at, updated_at)
    values (${deploymentId}, ${workspaceId}, 'bot', 'bot-1', 'internal_source', '{}', '{}', '', false, false,
      ${`treadle_d_${randomUUID()}`}, '', now(), now())`.execute(sql);
});
afterEach(async () => {
  await table.stop();
  await test.drop();
});

async function give(domain: string): Promise<void> {
  const now = new Date();
  const row = { id: randomUUID(), workspace_id: workspaceId, deployment_id: deploymentId, domain };
  await test.database.transaction(async (tx) => {
    await insertDomain(tx, { ...row, expires_at: now, created_at: now });
    await saveVerified(tx, row, { now, nextCheckAt: now });
  });
}

it("knows what was there when it started, and learns what another process changes", async () => {
  await give("first.example.com");
  await table.start();
  expect(table.slugOf("first.example.com")).toBe("bot-1");
  await give("second.example.com");
  await waitUntil(() => table.slugOf("second.example.com") === "bot-1", soon);
  expect(table.domainsOf("bot-1").sort()).toEqual(["first.example.com", "second.example.com"]);
  await test.database.transaction((tx) => deleteDomain(tx, workspaceId, deploymentId, "first.example.com"));
  await waitUntil(() => table.slugOf("first.example.com") === null, soon);
});

it("asks the database for no host that is nobody's", async () => {
  await table.start();
  const before = reads;
  for (let count = 0; count < 100_000; count += 1)
    expect(table.slugOf(`h${count}.example.com`) === null).toBe(true);
  expect(reads - before).toBe(0);
});

it("is in force when a refresh has ended, whatever else is read", async () => {
  await table.start();
  await give("third.example.com");
  const all = Promise.all([table.refresh("third.example.com"), table.refresh("other.example.com")]);
  await table.refresh("third.example.com");
  expect(table.slugOf("third.example.com")).toBe("bot-1");
  await all;
});

it("reads all of them again after the connection for notices was lost", async () => {
  await give("first.example.com");
  await table.start();
  // Changed without a notification, as when it is sent while no process listens.
  await raw`update deployment_domains set domain = 'second.example.com'`.execute(test.database.sql);
  expect(table.slugOf("first.example.com")).toBe("bot-1");
  const { rows } = await raw<{ ended: boolean }>`
    select pg_terminate_backend(pid) as ended from pg_stat_activity
    where datname = current_database() and query = ${`listen "${domainChannel}"`}`.execute(test.database.sql);
  expect(rows).toEqual([{ ended: true }]);
  await waitUntil(() => table.slugOf("second.example.com") === "bot-1", soon);
  expect(table.slugOf("first.example.com")).toBeNull();
  // And it listens again.
  await give("third.example.com");
  await waitUntil(() => table.slugOf("third.example.com") === "bot-1", soon);
});
