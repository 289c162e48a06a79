import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOldDatabase, type OldDatabase } from "../../../tests/support/old-database.ts";
import { raw } from "../../platform/db/raw.ts";

/** What becomes of ends that were written down as sentences. */
let old: OldDatabase;

beforeAll(async () => {
  old = await createOldDatabase("0060");
});
afterAll(() => old?.remove());

test("sentences become kinds, and their details stay", async () => {
  const { sql } = old.database;
  // What the rows point to does not matter here.
  await raw`alter table deployment_instances drop constraint deployment_instances_deployment_id_fkey,
    drop constraint deployment_instances_revision_id_fkey`.execute(sql);
  const sentences: [string | null, string | null, string | null][] = [
    ["stopped", "stopped", null],
    ["its port was taken by another process", "port_taken", null],
    ["exit code 9", "exit_code", "9"],
    ["signal SIGKILL", "signal", "SIGKILL"],
    ["out of memory: its limit is 400 MB. Give the deployment more", "out_of_memory", "400"],
    ["out of memory: the machine had no more. Give the deployment more", "out_of_memory", null],
    ["its container was removed", "removed", null],
    ["ended while the platform was away", "unknown", null],
    [
      "The agent server could not be started: no such file.",
      "not_started",
      "The agent server could not be started: no such file.",
    ],
    [null, null, null],
  ];
  const ids = sentences.map(() => randomUUID());
  for (const [index, [sentence]] of sentences.entries()) {
    await raw`insert into deployment_instances (id, deployment_id, revision_id, runtime, state, attempt, port, log_path,
        database_hash, exit_reason)
      values (${ids[index]}, ${randomUUID()}, ${randomUUID()}, 'process', 'exited', 1, 1, 'log', 'hash', ${sentence})`.execute(
      sql,
    );
  }
  await old.migrate();
  const { rows } = await raw<{ id: string; exit_kind: string | null; exit_detail: string | null }>`
    select id, exit_kind, exit_detail from deployment_instances`.execute(sql);
  const found = ids.map((id) => rows.find((row) => row.id === id)!);
  expect(found.map(({ exit_kind, exit_detail }) => [exit_kind, exit_detail])).toEqual(
    sentences.map(([, kind, detail]) => [kind, detail]),
  );
});
