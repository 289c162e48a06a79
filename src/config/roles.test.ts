import { describe, expect, test } from "vitest";
import { readConfig } from "./index.ts";
import { requireSharedSettings, roleNames, roleNotes } from "./roles.ts";

const shared = {
  DATABASE_URL: "postgres://db/treadle",
  TREADLE_SECRET_KEY: "a secret key of this test",
  TREADLE_API_KEY: "an api key of this test",
  TREADLE_PUBLIC_URL: "https://treadle.example.com",
  TREADLE_INTERNAL_URL: "http://treadle-api:8124",
  TREADLE_BLOB_URL: "s3://bucket/prefix",
};
const start = (environment: Record<string, string>) => requireSharedSettings(readConfig(environment));

test("without roles one process does everything and needs no setting", () => {
  const config = readConfig({});
  expect(config.roles).toBe("all");
  expect(config.missingForRoles).toEqual([]);
  expect(() => start({ TREADLE_ROLES: "all" })).not.toThrow();
});

test("roles are read in any order, with blanks and twice", () => {
  expect(readConfig({ TREADLE_ROLES: "worker, api,worker" }).roles).toEqual(["api", "worker"]);
  expect(readConfig({ TREADLE_ROLES: roleNames.join(",") }).roles).toEqual([...roleNames]);
});

describe("names that are refused", () => {
  test("an unknown one, with the list of those there are", () => {
    expect(() => readConfig({ TREADLE_ROLES: "api,wroker,scheduler" })).toThrow(
      /TREADLE_ROLES: must be all, or some of api, ingest, gateway, worker, export, controller, builder, .*there is no role wroker, scheduler/,
    );
  });

  test("none at all", () => {
    expect(() => readConfig({ TREADLE_ROLES: " , " })).toThrow(/must be all, or some of/);
  });

  test("all beside another", () => {
    expect(() => readConfig({ TREADLE_ROLES: "all,worker" })).toThrow(
      /all includes every role: name it alone/,
    );
  });
});

describe("a process with roles", () => {
  test("starts when it has what all share", () => {
    expect(() => start({ TREADLE_ROLES: "worker", ...shared })).not.toThrow();
  });

  test("names everything that is missing in one message, with what to set", () => {
    const failure = refusalOf({ TREADLE_ROLES: "api,worker" });
    expect(failure).toContain("TREADLE_ROLES=api,worker");
    for (const name of Object.keys(shared)) expect(failure).toMatch(new RegExp(`^  ${name}: .{20,}$`, "m"));
  });

  test.each(Object.keys(shared))("does not start without %s alone, and names only that", (name) => {
    const failure = refusalOf({ TREADLE_ROLES: "gateway", ...shared, [name]: "" });
    expect(Object.keys(shared).filter((each) => failure.includes(`\n  ${each}: `))).toEqual([name]);
  });
});

test("combinations in which a role adds nothing are named", () => {
  expect(roleNotes(["api", "ingest"])).toEqual([expect.stringContaining("ingest adds nothing")]);
  expect(roleNotes(["ingest", "gateway", "builder"])).toEqual([]);
  expect(roleNotes("all")).toEqual([]);
});

function refusalOf(environment: Record<string, string>): string {
  try {
    start(environment);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("The start was not refused.");
}
