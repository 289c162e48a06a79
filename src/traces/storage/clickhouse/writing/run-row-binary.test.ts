import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openMigrated } from "../../../../../tests/support/both-engines.ts";
import {
  type ClickHouse as Server,
  startClickHouse,
} from "../../../../../tests/support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../../../../../tests/support/components/clickhouse-library.ts";
import type { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import type { WrittenRow } from "./run-row.ts";
import { binaryRows } from "./run-row-binary.ts";

let server: Server;
let clickHouse: ClickHouse;

// The first run on a machine fetches ClickHouse.
beforeAll(async () => {
  server = await startClickHouse();
  clickHouse = await openMigrated(server, await server.createDatabase());
}, clickHouseStartLimitMs);
afterAll(async () => {
  await clickHouse?.close();
  await server?.stop();
});

const plain = (): WrittenRow => ({
  ...{ workspace_id: randomUUID(), project_id: randomUUID(), start_time: "2026-01-31 23:59:59.123456" },
  ...{ id: randomUUID(), trace_id: randomUUID(), parent_run_ids: [], is_root: true, reference_example: [] },
  ...{ name: "", run_type: "", status: "", ended: [], first_token: [], dotted_order: "", trace_tier: "" },
  ...{ thread: [], tags: [], metadata: "{}", terms: [], failure: [], execution_order: 0, posted: false },
  ...{ patched: false, usage: [], below: [], received_at: "2026-01-31 23:59:59", is_gone: false, present: 0 },
  ...{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, costs: [] },
});
const anyText = "a\0b\t\n\"\\'`\u2028 ß漢🧵";

const rows: WrittenRow[] = [
  plain(),
  {
    ...plain(),
    ...{ id: "00112233-4455-6677-8899-aabbccddeeff", workspace_id: "FFEEDDCC-BBAA-9988-7766-554433221100" },
    ...{ parent_run_ids: [randomUUID(), randomUUID()], reference_example: [randomUUID()], is_root: false },
    ...{ name: anyText, run_type: anyText, status: anyText, dotted_order: anyText, trace_tier: anyText },
    ...{ thread: [anyText], tags: [anyText, "", "x".repeat(127), "y".repeat(128)], metadata: anyText },
    ...{ start_time: "1900-01-01 00:00:00.000000", ended: ["2299-12-31 23:59:59.999999"] },
    ...{ first_token: ["1969-12-31 23:59:59.999999"], received_at: "2026-02-28 12:34:56.789" },
    ...{ terms: [-(2 ** 31), 0, 2 ** 31 - 1], failure: [anyText], execution_order: -7, posted: true },
    ...{ patched: true, usage: ["1", null, "0.5"], below: ["2"], is_gone: true, present: 255 },
    ...{ prompt_tokens: Number.MAX_SAFE_INTEGER, completion_tokens: -1, total_tokens: 2 ** 33 },
    ...{
      costs: ["0", null, "-0.000000000000000001", "12.5", "-3", "99999999999999999999.999999999999999999"],
    },
    ...{ inputs: Buffer.from("{}"), outputs: Buffer.from(JSON.stringify(anyText)), events: Buffer.from("") },
    // Larger than what is copied, on both sides of a row's end.
    ...{ extra: Buffer.from(`"${"ä".repeat(200_000)}"`), serialized: Buffer.from("null") },
    error_text: anyText,
  },
  { ...plain(), failure: [""], error_text: "e".repeat(300_000), serialized: Buffer.alloc(100_000, "s") },
  ...Array.from({ length: 600 }, () => ({ ...plain(), inputs: Buffer.alloc(1_000, "i") })),
];

/** As text, which the server reads by itself. */
const asText = (row: WrittenRow) =>
  Object.fromEntries(
    Object.entries({ error_text: null, ...row }).map(([name, value]) => [
      name,
      Buffer.isBuffer(value) ? value.toString() : value,
    ]),
  );

describe("rows of runs in binary", () => {
  test("are what they are as text, in every column of the table", async () => {
    await clickHouse.run("create table as_text as trace_runs");
    await clickHouse.insert("as_text", rows.map(asText));
    const sent = binaryRows(rows);
    await clickHouse.insertBinary("trace_runs", sent);
    const count = async (table: string) =>
      (await clickHouse.rows<{ n: number }>(`select count() as n from ${table}`))[0]!.n;
    expect(await count("trace_runs")).toBe(rows.length);
    const differing = `select * from trace_runs except select * from as_text`;
    expect(await clickHouse.rows(differing)).toEqual([]);
    expect(await count("as_text")).toBe(rows.length);
    const stored = await clickHouse.rows<{ name: string }>(
      `select name from system.columns
        where database = currentDatabase() and table = 'trace_runs' and default_kind in ('', 'DEFAULT')`,
    );
    expect([...sent.columns].sort()).toEqual(stored.map(({ name }) => name).sort());
  });

  test("have no bytes that are not text, as ClickHouse would keep them", async () => {
    const row = { ...plain(), name: "half \ud83d", inputs: Buffer.from([0x22, 0xff, 0xc3, 0x22]) };
    await clickHouse.insertBinary("trace_runs", binaryRows([row]));
    const found = await clickHouse.rows(
      "select name, inputs from trace_runs where id = {id: UUID} and isValidUTF8(name) and isValidUTF8(inputs)",
      { params: { id: row.id } },
    );
    expect(found).toEqual([{ name: "half \ufffd", inputs: '"\ufffd\ufffd"' }]);
  });

  test("cannot have a time that the column would not hold", () => {
    expect(() => binaryRows([{ ...plain(), start_time: "10000-01-01 00:00:00" }])).toThrow("no time");
  });
});
