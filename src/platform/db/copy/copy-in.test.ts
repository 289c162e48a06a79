import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../tests/support/database.ts";
import { raw } from "../raw.ts";
import { CopyEncoder } from "./copy-encoder.ts";

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase({ poolSize: 1 });
  await raw`create table copied (id uuid primary key, title text, flag boolean, small int, large bigint, share numeric,
    at timestamptz, document jsonb, signs bit(16), ids uuid[], words text[], numbers int[], shares numeric[])`.execute(
    testDatabase.database.sql,
  );
});
afterAll(() => testDatabase.drop());

const target =
  "copied (id, title, flag, small, large, share, at, document, signs, ids, words, numbers, shares)";
const id = "0123abcd-4567-89ef-0123-456789abcdef";
const other = "ffffffff-ffff-ffff-ffff-ffffffffffff";

function fullRow(encoder: CopyEncoder, key: string): void {
  encoder.row(13);
  encoder.uuid(key);
  encoder.text('é "quoted" \\ 🙂');
  encoder.boolean(true);
  encoder.int4(-5);
  encoder.int8(-9_007_199_254_740_991);
  encoder.numeric(100_000_000_000_000_000n);
  encoder.timestamp("1969-12-31T23:59:59.999999Z");
  encoder.jsonb('{"a":["ü"]}');
  encoder.bits(2, (bits) => bits.set([0b1000_0001, 0b0000_0010]));
  encoder.uuidArray([other, id]);
  encoder.textArray(["", "a,b", 'c"d', "NULL"]);
  encoder.int4Array([1, -2_147_483_648]);
  encoder.numericArray([1_500_000_000_000_000_000n, null, 0, 12_345_678, -1n, 0n, -20_000]);
}

function emptyRow(encoder: CopyEncoder, key: string): void {
  encoder.row(13);
  encoder.uuid(key);
  for (let field = 0; field < 8; field++) encoder.null();
  encoder.uuidArray([]);
  encoder.textArray([]);
  encoder.int4Array([]);
  encoder.numericArray(null);
}

test("every kind of value arrives as it was, also where the buffer had to grow", async () => {
  const { database } = testDatabase;
  const encoder = new CopyEncoder(0);
  fullRow(encoder, id);
  emptyRow(encoder, other);
  expect(await database.copyIn(target, encoder.finish())).toBe(2);
  const { rows } = await raw<
    Record<string, unknown>
  >`select title, flag, small, large::text as large, trim_scale(share) as share,
      to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, document, signs::text as signs, ids::text[],
      words, numbers, shares::text[]
    from copied order by id`.execute(database.sql);
  expect(rows).toEqual([
    {
      title: 'é "quoted" \\ 🙂',
      flag: true,
      small: -5,
      large: "-9007199254740991",
      share: "0.1",
      at: "1969-12-31T23:59:59.999999Z",
      document: { a: ["ü"] },
      signs: "1000000100000010",
      ids: [other, id],
      words: ["", "a,b", 'c"d', "NULL"],
      numbers: [1, -2_147_483_648],
      shares: ["1.5000", null, "0", "12345678", "-0.000000000000000001", "0", "-20000"],
    },
    expect.objectContaining({
      title: null,
      at: null,
      signs: null,
      ids: [],
      words: [],
      numbers: [],
      shares: null,
    }),
  ]);
});

test("all or none; after a refusal the connection works on", async () => {
  const { database } = testDatabase;
  const fresh = "00000000-0000-4000-8000-000000000000";
  const encoder = new CopyEncoder(10_000);
  for (const key of [fresh, id]) emptyRow(encoder, key);
  await expect(database.copyIn(target, encoder.finish())).rejects.toMatchObject({ code: "23505" });
  const { rows } = await raw`select 1 from copied where id = ${fresh}`.execute(database.sql);
  expect(rows).toEqual([]);
});
