import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseFilter } from "../../src/traces/filter/parse-filter.ts";
import { createBoundedRead } from "../../src/traces/storage/bounded-read.ts";
import { ClickHouseRunStatistics } from "../../src/traces/storage/clickhouse/reading/clickhouse-run-statistics.ts";
import { PostgresRunStatistics } from "../../src/traces/storage/postgres/reading/postgres-run-statistics.ts";
import type { RunQuery } from "../../src/traces/storage/run-query.ts";
import {
  type BothEngines,
  project,
  removed,
  startBothEngines,
  workspaceId,
} from "../support/both-engines.ts";
import { clickHouseStartLimitMs } from "../support/components/clickhouse-library.ts";
import { rounded } from "../support/rounded.ts";

/** Both engines hold the same runs, and must add them up to the same. */
let both: BothEngines;

// The first run on a machine fetches ClickHouse.
beforeAll(async () => {
  both = await startBothEngines();
}, clickHouseStartLimitMs);
afterAll(() => both?.stop());

describe("adding runs up", { timeout: 300_000 }, () => {
  const engines = () => {
    const { clickHouse, testDatabase } = both;
    const { database } = testDatabase;
    return [
      new PostgresRunStatistics({ database, read: createBoundedRead(database, 60_000) }),
      new ClickHouseRunStatistics({ clickHouse, database, readTimeoutMs: 60_000 }),
    ] as const;
  };

  test("gives the same numbers, in all and per stretch of time", async () => {
    const [expected, actual] = engines();
    const filter = parseFilter("and(gt(total_tokens, 0), neq(name, 'alpha'))");
    const queries: RunQuery[] = [
      ...[{ workspaceId }, { workspaceId, isRoot: true }, { workspaceId, isRoot: true, filter }],
      ...[
        { workspaceId, filter },
        { workspaceId, projectIds: [removed] },
        { workspaceId, runType: "none" },
      ],
    ];
    for (const query of queries) {
      expect(rounded(await actual.sum(query)), JSON.stringify(query)).toEqual(
        rounded(await expected.sum(query)),
      );
      for (const bucket of ["minute", "day", "week", "month"] as const)
        expect(rounded(await actual.sumByTime(query, bucket))).toEqual(
          rounded(await expected.sumByTime(query, bucket)),
        );
      expect(await actual.countThreads(query)).toBe(await expected.countThreads(query));
      for (const thread of ["t1", "none"])
        expect(rounded(await actual.sumThread(query, thread))).toEqual(
          rounded(await expected.sumThread(query, thread)),
        );
    }
  });

  test("gives the figures of a window", async () => {
    const [expected, actual] = engines();
    const whole = { from: new Date("2025-12-31"), to: new Date("2026-01-02") };
    const part = { from: new Date("2026-01-01T00:00:02Z"), to: new Date("2026-01-01T00:00:04Z") };
    const none = { from: new Date("2020-01-01"), to: new Date("2020-01-02") };
    for (const window of [whole, part, none])
      for (const id of [project, null]) {
        expect(rounded(await actual.figures(workspaceId, id, window))).toEqual(
          rounded(await expected.figures(workspaceId, id, window)),
        );
        expect(await actual.hasRuns(workspaceId, id, window)).toBe(
          await expected.hasRuns(workspaceId, id, window),
        );
      }
  });
});
