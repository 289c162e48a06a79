import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { parseFilter } from "../../src/traces/filter/parse-filter.ts";
import { createBoundedRead } from "../../src/traces/storage/bounded-read.ts";
import { ClickHouseRunStatistics } from "../../src/traces/storage/clickhouse/reading/clickhouse-run-statistics.ts";
import { PostgresRunStatistics } from "../../src/traces/storage/postgres/reading/postgres-run-statistics.ts";
import type { RunQuery } from "../../src/traces/storage/run-query.ts";
import type { RunStatistics } from "../../src/traces/storage/run-storage.ts";
import {
  type BothEngines,
  documents,
  foreign,
  otherWorkspace,
  project,
  removed,
  second,
  startBothEngines,
  workspaceId,
} from "../support/both-engines.ts";
import { insertJudged } from "../support/clickhouse-rows.ts";
import { clickHouseStartLimitMs } from "../support/components/clickhouse-library.ts";
import type { Judged } from "../support/filter-evaluator.ts";
import { rounded } from "../support/rounded.ts";
import { insertFeedback, insertRuns, type SampleRun, sampleRun } from "../support/trace-rows.ts";

/** Both engines hold the same runs and feedback, and must say the same of them. */
let both: BothEngines;
let expected: RunStatistics;
let actual: RunStatistics;

// The first run on a machine fetches ClickHouse.
beforeAll(async () => {
  both = await startBothEngines();
  const { clickHouse, testDatabase } = both;
  const { database } = testDatabase;
  expected = new PostgresRunStatistics({ database, read: createBoundedRead(database, 60_000) });
  actual = new ClickHouseRunStatistics({ clickHouse, database, readTimeoutMs: 60_000 });
}, clickHouseStartLimitMs);
afterAll(() => both?.stop());

async function store(runs: readonly Judged[]): Promise<void> {
  const { sql } = both.testDatabase.database;
  await insertRuns(sql, runs);
  await insertFeedback(
    sql,
    runs.flatMap((run) => run.feedback),
  );
  await raw`update trace_feedback f set project_id = r.project_id from trace_runs r where r.id = f.run_id`.execute(
    sql,
  );
  await insertJudged(both.clickHouse, runs);
}

const filter = parseFilter("and(gt(total_tokens, 0), neq(name, 'alpha'))");
const queries: RunQuery[] = [
  ...[{ workspaceId }, { workspaceId, isRoot: true, filter }, { workspaceId, hasError: true }],
  ...[
    { workspaceId, projectIds: [project] },
    { workspaceId, projectIds: [removed, foreign] },
  ],
  ...[{ workspaceId: otherWorkspace }, { workspaceId, filter: parseFilter('eq(feedback_key, "f2")') }],
];

describe("statistics", { timeout: 300_000 }, () => {
  test("sum feedback up by key", async () => {
    const of = (value: unknown, key: string): Judged => {
      const run = sampleRun({ workspace_id: workspaceId, session_id: second, thread_id: "said" });
      return { ...run, feedback: [{ workspace_id: workspaceId, run_id: run.id, key, value }] };
    };
    const odd = ["__proto__", "1", 1, null, { a: [1] }, "", 'say "hi"\n', "toString", true];
    await store(odd.flatMap((value) => [of(value, "odd"), of(value, "constructor")]));
    for (const query of queries)
      expect(rounded(await actual.sumFeedback(query)), JSON.stringify(query)).toEqual(
        rounded(await expected.sumFeedback(query)),
      );
    const { f1, odd: oddly } = await actual.sumFeedback({ workspaceId });
    expect(f1!.n).toBeGreaterThan(3);
    expect(oddly).toMatchObject({ n: odd.length, avg: null, values: { "1": 1, "": 1, toString: 1 } });
    const threads = ["t1", "t2", "said", "none"];
    for (const query of queries)
      expect(rounded([...(await actual.sumThreadFeedback(query, threads))].sort())).toEqual(
        rounded([...(await expected.sumThreadFeedback(query, threads))].sort()),
      );
    expect((await actual.sumThreadFeedback({ workspaceId }, threads)).has("said")).toBe(true);
  });

  test("list threads, page by page", async () => {
    const of = (n: number, run: Partial<SampleRun> = {}): Judged => ({
      ...sampleRun({
        ...{ workspace_id: workspaceId, session_id: second, thread_id: `many-${n}`, name: `turn ${n}` },
        ...{
          inputs: { n, text: "ü".repeat(300) },
          outputs: { n },
          start_time: "2026-02-01T00:00:00.000001Z",
        },
        ...run,
      }),
      feedback: [],
    });
    const end_time = "2026-02-01T00:00:09Z";
    await store([
      ...[of(1), of(1), of(1, { error: "one" }), of(1, { error: "two" }), of(2), of(3), of(3, { end_time })],
      ...[
        of(4, { start_time: "2026-02-01T00:00:03Z", end_time, error: "x".repeat(300) }),
        of(4, { end_time }),
      ],
      ...[of(5, { parent_run_id: randomUUID() }), of(6, { session_id: removed }), of(7, { thread_id: null })],
    ]);
    const walk = async (statistics: RunStatistics, query: RunQuery) => {
      const pages: unknown[] = [];
      let after: { startTime: string; threadId: string } | undefined;
      for (let n = 0; n < 20; n += 1) {
        const found = await statistics.listThreads(query, { limit: 2, ...(after && { after }) });
        pages.push(rounded(found));
        const last = found.at(1);
        if (found.length < 3 || !last) return pages;
        after = { startTime: last.max_start_time, threadId: last.thread_id };
      }
      throw new Error("The pages did not end.");
    };
    for (const query of queries)
      expect(await walk(actual, query), JSON.stringify(query)).toEqual(await walk(expected, query));
    expect((await walk(actual, { workspaceId })).length).toBeGreaterThan(3);
    const page = { limit: 3, offset: 2 };
    expect(rounded(await actual.listThreads({ workspaceId }, page))).toEqual(
      rounded(await expected.listThreads({ workspaceId }, page)),
    );
  });

  test("tell of whole projects, and when each was traced last", async () => {
    const ids = [project, second, removed, foreign, randomUUID()];
    for (const workspace of [workspaceId, otherWorkspace])
      expect(rounded([...(await actual.ofProjects(workspace, ids))])).toEqual(
        rounded([...(await expected.ofProjects(workspace, ids))]),
      );
    const stats = await actual.ofProjects(workspaceId, ids);
    expect(stats.get(project)?.run_count).toBeGreaterThan(3);
    expect(stats.get(foreign)?.run_count).toBe(0);
    expect(await actual.ofProjects(workspaceId, [])).toEqual(new Map());
    for (const workspace of [workspaceId, otherWorkspace, documents.workspace_id])
      expect([...(await actual.lastStarts(workspace))].sort()).toEqual(
        [...(await expected.lastStarts(workspace))].sort(),
      );
    expect([...(await actual.lastStarts(workspaceId)).keys()].sort()).toEqual([project, second].sort());
  });

  test("compare what experiments made of examples", async () => {
    const comparisonId = randomUUID();
    const example = randomUUID();
    const of = (session_id: string, error: string | null, score: number): Judged => {
      const run = sampleRun({ workspace_id: workspaceId, session_id, reference_example_id: example, error });
      return { ...run, feedback: [{ workspace_id: workspaceId, run_id: run.id, key: "right", score }] };
    };
    const runs = [of(project, null, 1), of(project, "boom", 0), of(second, null, 0.25)];
    await store(runs);
    // Said within a comparison: it does not count in another one.
    await raw`update trace_feedback set comparative_experiment_id = ${comparisonId}
      where run_id = ${runs[0]!.id}`.execute(both.testDatabase.database.sql);
    await both.clickHouse.run(
      `insert into trace_feedback select * replace ({c: UUID} as comparison_id, now64(6) as copied_at)
        from trace_feedback final where run_id = {run: UUID}`,
      { params: { c: comparisonId, run: runs[0]!.id } },
    );
    for (const asked of [undefined, comparisonId, randomUUID()])
      for (const ids of [[project, second], [second], [foreign], []]) {
        const of = async (statistics: RunStatistics) => {
          const found = await statistics.scores(workspaceId, { ids, comparisonId: asked, limit: 100 });
          return rounded({
            scores: found.scores.map((each) => JSON.stringify(Object.entries(each).sort())).sort(),
            outcomes: found.outcomes.map((each) => JSON.stringify(Object.entries(each).sort())).sort(),
          });
        };
        expect(await of(actual), `${asked} ${ids}`).toEqual(await of(expected));
      }
    const all = { ids: [project, second], comparisonId: undefined, limit: 100 };
    const { scores, outcomes } = await actual.scores(workspaceId, all);
    const right = { example_id: example, key: "right" };
    expect(scores).toContainEqual({ ...right, experiment_id: project, score: 0.5 });
    expect(outcomes).toContainEqual({ experiment_id: project, example_id: example, failed: true });
    const few = await actual.scores(workspaceId, { ...all, limit: 1 });
    expect([few.scores.length, few.outcomes.length]).toEqual([1, 1]);
  });

  test("have a mark that differs when a run came or ended, and not otherwise", async () => {
    const start = new Date(Date.now() - 60_000).toISOString();
    const run = sampleRun({ workspace_id: workspaceId, session_id: second, start_time: start });
    const elsewhere = sampleRun({ workspace_id: otherWorkspace, session_id: foreign, start_time: start });
    const { sql } = both.testDatabase.database;
    const steps: (() => Promise<unknown>)[] = [
      async () => store([{ ...run, feedback: [] }]),
      async () => {
        await raw`update trace_runs set end_time = now() where id = ${run.id}`.execute(sql);
        await insertJudged(both.clickHouse, [{ ...run, end_time: new Date().toISOString(), feedback: [] }]);
      },
      async () =>
        raw`insert into trace_projects (id, workspace_id, name)
        values (${randomUUID()}, ${workspaceId}, 'new')`.execute(sql),
    ];
    for (const statistics of [expected, actual]) {
      const mark = await statistics.mark(workspaceId);
      expect(mark).toBe(await statistics.mark(workspaceId));
      expect(await statistics.mark(randomUUID())).not.toBe(mark);
    }
    const marks = async () => [await expected.mark(workspaceId), await actual.mark(workspaceId)] as const;
    for (const step of steps) {
      const before = await marks();
      await store([{ ...elsewhere, id: randomUUID(), feedback: [] }]);
      expect(await marks()).toEqual(before);
      await step();
      const after = await marks();
      expect([after[0] === before[0], after[1] === before[1]]).toEqual([false, false]);
    }
  });
});
