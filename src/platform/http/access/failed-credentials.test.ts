import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../tests/support/database.ts";
import { raw } from "../../db/raw.ts";
import { AppError } from "../../errors.ts";
import { sharedRefusals } from "./failed-credential-store.ts";
import { FailedCredentials } from "./failed-credentials.ts";

function setUp(options: { perMinute?: number; maxEntries?: number } = {}) {
  let time = 0;
  const failed = new FailedCredentials({ perMinute: 3, now: () => time, ...options });
  const outcome = (address: string | undefined, credential: string) => {
    try {
      failed.admit(address, credential);
      return "looked at";
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return [error.kind, error.headers?.["retry-after"]];
    }
  };
  /** What a server does with a credential that is wrong. */
  const guess = (address: string | undefined, credential: string) => {
    const first = outcome(address, credential);
    if (first === "looked at") void failed.refused(address, credential);
    return first;
  };
  const pass = (ms: number) => {
    time += ms;
  };
  return { failed, outcome, guess, pass };
}

describe("wrong credentials from one address", () => {
  test("are looked at up to the limit, then refused until the minute is over", () => {
    const { guess, pass } = setUp();
    for (const key of ["a-key", "b-key", "c-key"]) expect(guess("192.0.2.1", key)).toBe("looked at");
    pass(10_500);
    expect(guess("192.0.2.1", "d-key")).toEqual(["rate_limited", "50"]);
    expect(guess("192.0.2.2", "d-key")).toBe("looked at");
    pass(49_500);
    expect(guess("192.0.2.1", "d-key")).toBe("looked at");
  });

  test("do not lock out who was known there before, nor are they a way to learn who that is", () => {
    const { failed, guess, outcome } = setUp();
    failed.accepted("good-key");
    for (const key of ["a", "b", "c"]) guess("192.0.2.1", key);
    expect(outcome("192.0.2.1", "good-key")).toBe("looked at");
    expect(outcome("192.0.2.1", "good-kez")).toEqual(["rate_limited", "60"]);
  });

  test("a good one is forgotten after a while", () => {
    const { failed, guess, outcome, pass } = setUp();
    failed.accepted("good-key");
    pass(10 * 60_000);
    for (const key of ["a", "b", "c"]) guess("192.0.2.1", key);
    expect(outcome("192.0.2.1", "good-key")).toEqual(["rate_limited", "60"]);
  });

  test("one network of IPv6 counts as one", () => {
    const { guess } = setUp();
    for (const host of ["1", "2", "ffff:1"]) guess(`2001:db8:1:2::${host}`, host);
    expect(guess("2001:db8:1:2:3:4:5:6", "x")).toEqual(["rate_limited", "60"]);
    expect(guess("2001:db8:1:3::1", "x")).toBe("looked at");
  });
});

describe("two servers on one database", () => {
  let shared: TestDatabase;
  let queries = 0;
  beforeAll(async () => {
    shared = await createTestDatabase({ poolSize: 4 });
  });
  afterAll(() => shared?.drop());
  const server = () => {
    const share = sharedRefusals(shared.database);
    return new FailedCredentials({
      perMinute: 5,
      share: (...counted) => {
        queries += 1;
        return share(...counted);
      },
    });
  };
  const guess = async (failed: FailedCredentials, address: string, credential: string) => {
    try {
      failed.admit(address, credential);
    } catch (error) {
      return (error as AppError).kind;
    }
    await failed.refused(address, credential);
    return "looked at";
  };

  test("count together: whoever asks both in turn is looked at no more often, but for one", async () => {
    const servers = [server(), server()];
    const outcomes: string[] = [];
    for (let round = 0; round < 20; round += 1)
      outcomes.push(await guess(servers[round % 2]!, "192.0.2.1", `eyJ${round}`));
    expect(outcomes.filter((outcome) => outcome === "looked at").length).toBeLessThanOrEqual(6);
    expect(new Set(outcomes.slice(6))).toEqual(new Set(["rate_limited"]));
    expect(await guess(servers[0]!, "192.0.2.2", "eyJ")).toBe("looked at");
    // Neither an address nor the beginning of a key is kept.
    const { rows } = await raw<{ bucket: string }>`select bucket from failed_credentials`.execute(
      shared.database.sql,
    );
    expect(rows).toHaveLength(2);
    expect(JSON.stringify(rows)).not.toContain("192.0.2");
  });

  test("at the same moment, with keys and addresses in any order: every refusal is counted", async () => {
    const servers = [server(), server(), server()];
    await raw`truncate failed_credentials`.execute(shared.database.sql);
    const guesses = Array.from({ length: 30 }, (_, at) =>
      servers[at % 3]!.refused(`198.51.100.${at % 4}`, `trk_${at % 5}2345678`),
    );
    await Promise.all(guesses);
    const { rows } = await raw<{ total: number }>`select sum(refusals)::int as total
      from failed_credentials`.execute(shared.database.sql);
    expect(rows).toEqual([{ total: 60 }]);
  });

  test("a right key asks nothing, and what is over is cleared away", async () => {
    const failed = server();
    queries = 0;
    for (let round = 0; round < 10; round += 1) {
      failed.admit("203.0.113.1", "a good key");
      failed.accepted("a good key");
    }
    expect(queries).toBe(0);
    await raw`update failed_credentials set ends_at = now() - interval '1 second'`.execute(
      shared.database.sql,
    );
    await failed.refused("203.0.113.9", "eyJ");
    const { rows } = await raw`select refusals from failed_credentials`.execute(shared.database.sql);
    expect(rows).toEqual([{ refusals: 1 }]);
  });
});

describe("tries for one key from many addresses", () => {
  test("are refused at five times the limit", () => {
    const { guess } = setUp();
    const tries = Array.from({ length: 16 }, (_, at) => guess(`192.0.2.${at}`, `trk_12345678${at}`));
    expect(tries.slice(0, 15)).toEqual(Array(15).fill("looked at"));
    expect(tries[15]).toEqual(["rate_limited", "60"]);
    expect(guess("192.0.2.99", "trk_87654321")).toBe("looked at");
  });

  test("session tokens all begin alike and are not counted so", () => {
    const { guess } = setUp();
    const tries = Array.from({ length: 40 }, (_, at) => guess(`192.0.2.${at}`, `eyJhbGciOiJFZERTQSJ9.${at}`));
    expect(new Set(tries)).toEqual(new Set(["looked at"]));
  });
});

test("memory is bounded: the oldest address gives way", () => {
  const { guess } = setUp({ maxEntries: 4 });
  for (let round = 0; round < 3; round += 1) guess("192.0.2.1", "eyJ");
  expect(guess("192.0.2.1", "eyJ")).toEqual(["rate_limited", "60"]);
  for (let host = 2; host < 6; host += 1) guess(`192.0.2.${host}`, "eyJ");
  expect(guess("192.0.2.1", "eyJ")).toBe("looked at");
});

test("nothing is counted when switched off, or where there is no address", () => {
  const off = setUp({ perMinute: 0 });
  const on = setUp();
  for (let round = 0; round < 50; round += 1) {
    expect(off.guess("192.0.2.1", "x")).toBe("looked at");
    expect(on.guess(undefined, "x")).toBe("looked at");
  }
});

test.each([
  ["203.0.113.9", "198.51.100.1", "203.0.113.9"],
  ["127.0.0.1", "198.51.100.1", "198.51.100.1"],
  ["::ffff:127.0.0.1", "6.6.6.6, 198.51.100.1", "198.51.100.1"],
  ["::1", null, "::1"],
  [undefined, "198.51.100.1", undefined],
  ["10.1.2.3", "6.6.6.6, 198.51.100.1", "198.51.100.1"],
  ["::ffff:10.1.2.3", "198.51.100.1", "198.51.100.1"],
  ["10.1.2.3", "6.6.6.6, 198.51.100.1, 2001:db8::7, 127.0.0.1", "198.51.100.1"],
  ["10.1.2.3", null, "10.1.2.3"],
  ["10.1.2.3", "not an address", "not an address"],
  ["2001:db8::8", "198.51.100.1", "2001:db8::8"],
])("from %s, forwarded for %s: %s", (peer, forwarded, expected) => {
  const headers = new Headers(forwarded === null ? {} : { "x-forwarded-for": forwarded });
  const failed = new FailedCredentials({
    perMinute: 1,
    trustedProxies: ["10.0.0.0/8", "2001:db8::7"],
  });
  expect(failed.addressOf(peer, headers)).toBe(expected);
});
