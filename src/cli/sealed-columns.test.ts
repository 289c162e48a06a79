import { expect, test } from "vitest";
import { createTestDatabase } from "../../tests/support/database.ts";
import { sealedColumns } from "./sealed-columns.ts";

test("every sealed column of the schema is rotated", async () => {
  const { database, drop } = await createTestDatabase();
  try {
    const statement = {
      name: "sealed_columns_v1",
      // encryption_keys holds the check values themselves: one per key, never re-sealed.
      text: `select table_name || '.' || column_name as name from information_schema.columns
        where table_schema = 'public' and column_name ~ '_?sealed$' and table_name <> 'encryption_keys' order by 1`,
    };
    const inSchema = await database.query<{ name: string }>(statement, []);
    const listed = sealedColumns.map(({ table, column }) => `${table}.${column}`).sort();
    expect(listed).toEqual(inSchema.map(({ name }) => name));
  } finally {
    await drop();
  }
});
