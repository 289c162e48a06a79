import { afterAll, expect, it, vi } from "vitest";
import { createTestDatabase } from "../../../tests/support/database.ts";
import { createLogger } from "../logger.ts";
import { raw } from "./raw.ts";
import { TableGrowth } from "./table-growth.ts";

const test = await createTestDatabase();
afterAll(() => test.drop());
const { sql } = test.database;
const logger = createLogger({ level: "silent" });

async function knownRows(table = "grown"): Promise<number> {
  const { rows } = await raw<{
    reltuples: number;
  }>`select reltuples from pg_class where relname = ${table}`.execute(sql);
  return Number(rows[0]?.reltuples);
}

it("tells PostgreSQL of the first growth, and then ever more rarely", async () => {
  await raw`create table grown as select generate_series(1, 600) as value`.execute(sql);
  const growth = new TableGrowth({ sql, logger, tables: ["grown"] });
  for (let row = 0; row < 499; row += 1) growth.note();
  expect(await knownRows()).toBeLessThanOrEqual(0);
  growth.note();
  await vi.waitFor(async () => expect(await knownRows()).toBe(600));

  await raw`insert into grown select generate_series(1, 3400)`.execute(sql);
  growth.note(3_000);
  expect(await knownRows()).toBe(600);
  growth.note(500);
  await vi.waitFor(async () => expect(await knownRows()).toBe(4_000));
});

it("leaves alone what PostgreSQL knows to be large, and what is empty", async () => {
  await raw`create table large as select generate_series(1, 2000) as value`.execute(sql);
  await raw`analyze large`.execute(sql);
  await raw`insert into large select generate_series(1, 900)`.execute(sql);
  await raw`create table small as select 1 as value`.execute(sql);
  await raw`create table empty (value int)`.execute(sql);
  new TableGrowth({ sql, logger, tables: ["large", "empty", "small"] }).note(900);
  await vi.waitFor(async () => expect(await knownRows("small")).toBe(1));
  expect(await knownRows("large")).toBe(2_000);
  expect(await knownRows("empty")).toBe(-1);
});

it("goes on when it may not", async () => {
  const lines: string[] = [];
  const listening = { warn: (_: unknown, line: string) => void lines.push(line) } as never;
  new TableGrowth({ sql, logger: listening, tables: ["there_is_no_such_table"] }).note(500);
  await vi.waitFor(() => expect(lines).toEqual(["the tables that have grown could not be analyzed"]));
});
