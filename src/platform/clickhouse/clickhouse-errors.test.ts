import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClickHouse as Server, startClickHouse } from "../../../tests/support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../../../tests/support/components/clickhouse-library.ts";
import { ClickHouse } from "./clickhouse.ts";
import { knownCodes, mapClickHouseError } from "./clickhouse-errors.ts";

let server: Server;
let clickHouse: ClickHouse;

// The first run on a machine fetches ClickHouse.
beforeAll(async () => {
  server = await startClickHouse();
  clickHouse = await ClickHouse.open({ url: await server.createDatabase() });
}, clickHouseStartLimitMs);
afterAll(async () => {
  await clickHouse?.close();
  await server?.stop();
});

const mapped = (code: string) => mapClickHouseError(Object.assign(new Error("words"), { code }), "host/db");

describe("errors of ClickHouse", () => {
  test("have the numbers that the server gives their names", async () => {
    const names = await clickHouse.rows<{ code: string; name: string }>(
      `select toString(arrayJoin({codes: Array(UInt32)}) as number) as code, errorCodeToName(number) as name`,
      { params: { codes: Object.keys(knownCodes).map(Number) } },
    );
    expect(Object.fromEntries(names.map(({ code, name }) => [code, name]))).toEqual(knownCodes);
  });

  test.each([
    ["225", "database.strained", true],
    ["745", "database.strained", true],
    ["243", "database.full", true],
    ["164", "database.refused", false],
    ["497", "database.refused", false],
    ["ECONNREFUSED", "database.unavailable", true],
  ])("%s is %s", (code, ours, retryable) => {
    expect(mapped(code)).toMatchObject({ code: ours, retryable });
  });

  test("about a right that is missing name it, and say what to do", () => {
    const said =
      "treadle: Not enough privileges. To execute this query, it's necessary to have the grant S3 ON *.*. ";
    const error = mapClickHouseError(Object.assign(new Error(said), { code: "497" }), "host/db");
    expect(error).toMatchObject({
      message: expect.stringMatching(
        /treadle: Not enough privileges.*S3 ON \*\.\*\)\. Grant the user this right/,
      ),
    });
  });

  test("that are about a statement stay what they are", () => {
    expect(mapped("62")).toMatchObject({ code: "62", message: "words" });
  });
});
