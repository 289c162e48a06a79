import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { type AuthFilter, metadataCondition } from "./auth-filter.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase({ poolSize: 2 });
});
afterAll(() => database.drop());

async function admits(filter: AuthFilter, metadata: unknown): Promise<boolean> {
  const condition = metadataCondition(filter) ?? raw`true`;
  const { rows } = await raw<{ admitted: boolean | null }>`select ${condition} as admitted
    from (select ${JSON.stringify(metadata)}::jsonb as metadata) as row`.execute(database.database.sql);
  return rows[0]!.admitted === true;
}

describe("a filter of the project's authorization, in SQL", () => {
  test.each<[AuthFilter, unknown, boolean]>([
    [{}, { owner: "bob" }, true],
    [{ owner: "ada" }, { owner: "ada", topic: "tea" }, true],
    [{ owner: "ada" }, { owner: "bob" }, false],
    [{ owner: "ada" }, {}, false],
    [{ owner: "ada" }, { owner: ["ada"] }, false],
    [{ owner: 'it\'s "quoted"' }, { owner: 'it\'s "quoted"' }, true],
    [{ level: 3, open: true }, { level: 3, open: true }, true],
    [{ level: 3 }, { level: "3" }, false],
    [{ owner: { $eq: "ada" } }, { owner: "ada" }, true],
    [{ owner: { $eq: "ada" } }, { owner: "bob" }, false],
    [{ teams: { $contains: "red" } }, { teams: ["blue", "red"] }, true],
    [{ teams: { $contains: "red" } }, { teams: ["blue"] }, false],
    [{ teams: { $contains: "red" } }, { teams: "red" }, false],
    [{ teams: { $contains: ["red", "blue"] } }, { teams: ["blue", "green", "red"] }, true],
    [{ teams: { $contains: ["red", "blue"] } }, { teams: ["red"] }, false],
    [{ owner: "ada", team: "blue" }, { owner: "ada", team: "red" }, false],
    [{ $or: [{ owner: "ada" }, { shared: true }] }, { owner: "bob", shared: true }, true],
    [{ $or: [{ owner: "ada" }, { shared: true }] }, { owner: "bob" }, false],
    [{ $and: [{ owner: "ada" }, { team: { $eq: "blue" } }] }, { owner: "ada", team: "blue" }, true],
  ])("%j of %j: %j", async (filter, metadata, expected) => {
    expect(await admits(filter, metadata)).toBe(expected);
  });

  test("names its column", async () => {
    const condition = metadataCondition({ owner: "ada" }, "t.document")!;
    const { rows } = await raw<{ ok: boolean }>`select ${condition} as ok
      from (select '{"owner":"ada"}'::jsonb as document) as t`.execute(database.database.sql);
    expect(rows).toEqual([{ ok: true }]);
  });

  test.each<[AuthFilter, RegExp]>([
    [{ owner: { $regex: ".*" } }, /operator \$regex/],
    [{ owner: ["ada"] }, /must be text/],
    [{ owner: {} }, /names no operator/],
    [{ $or: [] }, /needs a list of filters/],
    [{ $or: ["ada"] }, /needs a list of filters/],
    [{ teams: { $contains: [{}] } }, /\$contains needs/],
  ])("%j opens nothing", (filter, message) => {
    expect(() => metadataCondition(filter)).toThrow(message);
  });
});
