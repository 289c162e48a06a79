import { expect, test } from "vitest";
import { createTestDatabase } from "../../../../tests/support/database.ts";
import { sealedColumns } from "./sealed-columns.ts";

test("every sealed column of the schema is rotated, and no other is named", async () => {
  const { database, drop } = await createTestDatabase();
  try {
    const statement = {
      name: "all_columns_v1",
      text: `select table_name || '.' || column_name as name from information_schema.columns
        where table_schema = 'public'`,
    };
    const inSchema = (await database.query<{ name: string }>(statement, [])).map(({ name }) => name);
    const listed = sealedColumns.map(({ table, column }) => `${table}.${column}`);
    expect(listed.filter((name) => !inSchema.includes(name))).toEqual([]);
    // The check value of a key is sealed with that very key for ever.
    const sealed = inSchema.filter(
      (name) => name.endsWith("sealed") && name !== "encryption_keys.check_sealed",
    );
    expect(sealed.filter((name) => !listed.includes(name))).toEqual([]);
  } finally {
    await drop();
  }
});
