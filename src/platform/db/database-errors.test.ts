import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { isConnectionError } from "./database-errors.ts";
import { raw } from "./raw.ts";

let shared: TestDatabase;
beforeAll(async () => {
  shared = await createTestDatabase();
});
afterAll(() => shared?.drop());

describe("text that PostgreSQL refuses is the sender's to mend", () => {
  test.each([
    ["a NUL in text", "text", "a\u0000b", "NUL"],
    ["a NUL in jsonb", "jsonb", JSON.stringify({ a: "\u0000" }), "NUL"],
    ["a high surrogate alone in jsonb", "jsonb", JSON.stringify({ a: "\ud800" }), "surrogate"],
    ["a low surrogate alone in jsonb", "jsonb", JSON.stringify({ a: "\udc00" }), "surrogate"],
  ])("%s", async (_, type, value, word) => {
    const refused = { kind: "unprocessable", message: expect.stringContaining(word) };
    const { database } = shared;
    await expect(raw`select ${value}::${raw.raw(type)}`.execute(database.sql)).rejects.toMatchObject(refused);
    const statement = { name: `refused_${type}`, text: `select $1::${type}` };
    await expect(database.query(statement, [value])).rejects.toMatchObject(refused);
  });

  test.each([
    ["json that is none", raw`select ${"{"}::jsonb`],
    ["an id that is none", raw`select ${"x"}::uuid`],
  ])("%s stays a defect", async (_, query) => {
    await expect(query.execute(shared.database.sql)).rejects.toMatchObject({ code: "22P02" });
  });
});

test.each(["timeout expired", "Connection terminated due to connection timeout"])(
  "a connection that took too long (%s) is the database's to answer for",
  (message) => expect(isConnectionError(new Error(message))).toBe(true),
);
