import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { parseFilter } from "../../src/traces/filter/parse-filter.ts";
import type { Feedback } from "../../src/traces/runs/feedback.ts";
import { createBoundedRead } from "../../src/traces/storage/bounded-read.ts";
import { ClickHouseRunFeedback } from "../../src/traces/storage/clickhouse/feedback/clickhouse-run-feedback.ts";
import { ClickHouseRunReading } from "../../src/traces/storage/clickhouse/reading/clickhouse-run-reading.ts";
import { ClickHouseRunStatistics } from "../../src/traces/storage/clickhouse/reading/clickhouse-run-statistics.ts";
import { PostgresRunFeedback } from "../../src/traces/storage/postgres/feedback/postgres-run-feedback.ts";
import { PostgresRunReading } from "../../src/traces/storage/postgres/reading/postgres-run-reading.ts";
import { PostgresRunStatistics } from "../../src/traces/storage/postgres/reading/postgres-run-statistics.ts";
import type { RunFeedback, RunReading, RunStatistics } from "../../src/traces/storage/run-storage.ts";
import {
  type BothEngines,
  foreign,
  otherWorkspace,
  project,
  second,
  startBothEngines,
  workspaceId,
} from "../support/both-engines.ts";
import { insertJudged } from "../support/clickhouse-rows.ts";
import { clickHouseStartLimitMs } from "../support/components/clickhouse-library.ts";
import { startTcpProxy, type TcpProxy } from "../support/components/tcp-proxy.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import type { Judged } from "../support/filter-evaluator.ts";
import { holdRows } from "../support/held-rows.ts";
import { rounded } from "../support/rounded.ts";
import { insertRuns, sampleRun } from "../support/trace-rows.ts";

/** Feedback is changed on ClickHouse's side; what PostgreSQL finds in its own rows is what the copy must say, too. */
let both: BothEngines;
let feedback: RunFeedback;
let readings: [RunReading, RunReading];
let statistics: [RunStatistics, RunStatistics];

const logger = createLogger({ level: "silent" });
const limits = { timeout: 300_000 };

// The first run on a machine fetches ClickHouse.
beforeAll(async () => {
  both = await startBothEngines();
  const { clickHouse, testDatabase } = both;
  const { database } = testDatabase;
  const read = createBoundedRead(database, 60_000);
  const options = { clickHouse, database, readTimeoutMs: 60_000 };
  readings = [new PostgresRunReading({ database, read }), new ClickHouseRunReading(options)];
  statistics = [new PostgresRunStatistics({ database, read }), new ClickHouseRunStatistics(options)];
  feedback = new ClickHouseRunFeedback({ clickHouse, database, logger });
}, clickHouseStartLimitMs);
afterAll(() => both?.stop());

function given(run_id: string | null, change: Partial<Feedback> = {}): Feedback {
  const nothing = { trace_id: null, project_id: null, comment: null, correction: null, extra: null };
  const time = "2026-03-01T00:00:00.000001Z";
  return {
    ...{
      id: randomUUID(),
      workspace_id: workspaceId,
      run_id,
      key: "said",
      score: 1,
      value: null,
      ...nothing,
    },
    ...{ feedback_source: { type: "app" }, feedback_config: null, comparative_experiment_id: null },
    ...{ feedback_group_id: null, created_at: time, modified_at: time, ...change },
  };
}

const filters = [
  ...[
    'eq(feedback_key, "said")',
    "gt(feedback_score, 0.5)",
    'eq(feedback_value, "good")',
    "eq(feedback_score, null)",
  ],
  ...['eq(feedback_value, "1")', 'like(feedback_comment, "%well%")', 'eq(feedback_source, "app")'],
  ...["neq(feedback_score, null)", `eq(feedback_value, '{"a": 1}')`],
].map((text) => parseFilter(text));

/** What filters and statistics make of the feedback. */
async function seen(engine: 0 | 1): Promise<unknown> {
  const found: unknown[] = [];
  for (const filter of filters) {
    const page = { limit: 200, order: "asc" } as const;
    const { rows } = await readings[engine].find({ workspaceId, filter }, page, new Set(["id"]));
    found.push(rows.map(({ id }) => id).sort());
  }
  const projects = await statistics[engine].ofProjects(workspaceId, [project, second]);
  const sums = await statistics[engine].sumFeedback({ workspaceId });
  const keys = (await readings[engine].seen({ workspaceId, projectId: second })).feedbackKeys;
  return rounded({ found, sums, keys, stats: [...projects].map(([, { feedback_stats }]) => feedback_stats) });
}

async function expectSame(): Promise<void> {
  expect(await seen(1)).toEqual(await seen(0));
}

async function addRun(place: Partial<Judged> = {}): Promise<string> {
  const run = sampleRun({ workspace_id: workspaceId, session_id: second, ...place });
  await insertRuns(both.testDatabase.database.sql, [run]);
  await insertJudged(both.clickHouse, [{ ...run, feedback: [] }]);
  return run.id;
}

describe("feedback", limits, () => {
  test("is found by filters and statistics when it was saved, changed, sent again and removed", async () => {
    const run = await addRun();
    const values = ['"good"', "1", '"1"', "null", '{"a":1}', '"', null];
    const many = values.map((value) => given(run, { value, score: null, comment: "well" }));
    const kept = given(run, { key: "kept", score: 0.25 });
    await feedback.save([...many, kept, given(null, { project_id: second, key: "of the project" })]);
    await expectSame();
    const sums = await statistics[1].sumFeedback({ workspaceId });
    expect(sums.said).toMatchObject({ n: 7, avg: null, values: { good: 1, "1": 1 } });
    const now = new Date("2026-03-02");
    await feedback.update(workspaceId, kept.id, { score: 0.75, comment: null, value: '"good"' }, now);
    await expectSame();
    expect((await statistics[1].sumFeedback({ workspaceId })).kept).toMatchObject({ n: 1, avg: 0.75 });
    // Whatever times a client sends: what was sent last stands.
    await feedback.save([{ ...kept, key: "again", modified_at: "2001-01-01T00:00:00.000000Z" }]);
    await expectSame();
    expect((await statistics[1].sumFeedback({ workspaceId })).again).toMatchObject({ n: 1, avg: 0.25 });
    expect(await feedback.remove(workspaceId, kept.id)).toBe(true);
    expect(await feedback.remove(workspaceId, kept.id)).toBe(false);
    expect(await feedback.update(workspaceId, kept.id, { score: 1 }, now)).toBeUndefined();
    await expectSame();
    expect(await statistics[1].sumFeedback({ workspaceId })).not.toHaveProperty("again");
    await feedback.save([kept]);
    await expectSame();
    expect((await statistics[1].sumFeedback({ workspaceId })).kept).toMatchObject({ n: 1, avg: 0.25 });
  });

  test("is saved as PostgreSQL's engine saves it, and only where it may be", async () => {
    const run = await addRun();
    const early = randomUUID();
    const inTrace = await addRun({ trace_id: run, parent_run_id: run, parent_run_ids: [run] });
    const postgres = new PostgresRunFeedback({ database: both.testDatabase.database });
    const samples = [
      ...[given(run), given(inTrace), given(run, { project_id: project, trace_id: early }), given(early)],
      ...[given(early, { project_id: project }), given(null, { project_id: second }), given(both.ghost.id)],
      given(run, { workspace_id: otherWorkspace, value: '["x"]', extra: { a: 1 } }),
    ];
    const plain = (saved: Feedback[]) =>
      saved.map(({ id: _, ...rest }) => JSON.stringify(Object.entries(rest).sort())).sort();
    const actual = await feedback.save(samples);
    const expected = await postgres.save(samples.map((each) => ({ ...each, id: randomUUID() })));
    expect(plain(actual)).toEqual(plain(expected));
    expect(actual.find(({ id }) => id === samples[1]!.id)).toMatchObject({
      trace_id: run,
      project_id: second,
    });
    for (const saver of [feedback, postgres]) {
      expect(await saver.save([{ ...samples[0]!, workspace_id: otherWorkspace, key: "theirs" }])).toEqual([]);
      expect(await saver.save([{ ...samples[0]!, key: "other project" }], project)).toEqual([]);
      expect(await saver.save([{ ...samples[0]!, key: "its project" }], second)).toHaveLength(1);
      expect(await saver.update(otherWorkspace, samples[0]!.id, { score: 0 }, new Date())).toBeUndefined();
      expect(await saver.remove(otherWorkspace, samples[0]!.id)).toBe(false);
    }
    const foreignSums = await statistics[1].sumFeedback({
      workspaceId: otherWorkspace,
      projectIds: [foreign],
    });
    expect(foreignSums).not.toHaveProperty("theirs");
    // What PostgreSQL's engine saved has no copy.
    for (const each of expected) await postgres.remove(each.workspace_id, each.id);
    await expectSame();
  });

  test("that came before its run is not hidden by much that is newer, on runs that never come", async () => {
    const { database } = both.testDatabase;
    const newer = raw`insert into trace_feedback (id, workspace_id, run_id, key, created_at)
      select gen_random_uuid(), ${workspaceId}, gen_random_uuid(), 'never', now() from generate_series(1, 2500)`;
    await newer.execute(database.sql);
    for (const engine of [feedback, new PostgresRunFeedback({ database })]) {
      const id = randomUUID();
      const [early] = await feedback.save([given(id, { key: "early" })]);
      await addRun({ id });
      for (let sweep = 0; sweep < 3; sweep++) await engine.settleEarly();
      const { rows } = await raw`select project_id from trace_feedback where id = ${early!.id}`.execute(
        database.sql,
      );
      expect(rows).toEqual([{ project_id: second }]);
      await feedback.remove(workspaceId, early!.id);
    }
    await raw`delete from trace_feedback where key = 'never'`.execute(database.sql);
  });

  test("that came before its run is of its project once the run is there", async () => {
    const id = randomUUID();
    const [early] = await feedback.save([given(id, { key: "early" })]);
    await feedback.settleEarly();
    const { sql } = both.testDatabase.database;
    const stored = async () => {
      const { rows } =
        await raw<Feedback>`select project_id, trace_id from trace_feedback where id = ${early!.id}`.execute(
          sql,
        );
      return rows[0];
    };
    expect(await stored()).toEqual({ project_id: null, trace_id: null });
    await addRun({ id });
    await expectSame();
    await feedback.settleEarly();
    expect(await stored()).toEqual({ project_id: second, trace_id: id });
    const copies = await both.clickHouse.rows(
      "select project_id from trace_feedback final where id = {id: UUID}",
      { params: { id: early!.id } },
    );
    expect(copies).toEqual([{ project_id: second }]);
    await expectSame();
  });
});

describe("when the copy is missed", limits, () => {
  let proxy: TcpProxy;
  let distant: ClickHouse;
  /** Its ClickHouse may go away. */
  let unlucky: RunFeedback;
  beforeAll(async () => {
    proxy = await startTcpProxy({ target: both.clickHouseUrl });
    distant = await ClickHouse.open({ url: proxy.urlFor(both.clickHouseUrl), requestTimeoutMs: 20_000 });
    const { database } = both.testDatabase;
    unlucky = new ClickHouseRunFeedback({ clickHouse: distant, database, logger });
  });
  afterAll(async () => {
    await distant?.close();
    await proxy?.stop();
  });

  const marksOf = async (id: string) =>
    (
      await both.clickHouse.rows("select 1 from trace_feedback_marks where id = {id: UUID}", {
        params: { id },
      })
    ).length;

  /** Another process does it: the one that missed the copy may be gone. */
  async function repair(): Promise<void> {
    const { clickHouse, testDatabase } = both;
    const { database } = testDatabase;
    await new ClickHouseRunFeedback({ clickHouse, database, logger, repairAfterMs: 0 }).settleEarly();
  }

  /** Begins a change of the row, and lets ClickHouse go away before PostgreSQL has made it. */
  async function missingCopy<Result>(id: string, change: () => Promise<Result>): Promise<Result> {
    const { database } = both.testDatabase;
    const before = await marksOf(id);
    const row = await holdRows(database, raw`select from trace_feedback where id = ${id} for update`);
    const changing = change();
    await waitUntil(async () => (await marksOf(id)) > before, { what: "the mark", timeoutMs: 30_000 });
    await proxy.refuse();
    await row.letGo();
    try {
      return await changing;
    } finally {
      await proxy.restore();
    }
  }

  test.each<[string, (saved: Feedback) => Promise<unknown>]>([
    ["a change", ({ id }) => unlucky.update(workspaceId, id, { score: 0, value: '"bad"' }, new Date())],
    ["a removal", ({ id }) => unlucky.remove(workspaceId, id)],
    ["what is sent again", (saved) => unlucky.save([{ ...saved, key: "sent again", score: 0.5 }])],
  ])("of %s, it is made later, whoever is there then", async (_, change) => {
    const run = await addRun();
    const saved = given(run, { key: "unlucky" });
    await unlucky.save([saved]);
    await expectSame();
    const result = await missingCopy(saved.id, () => change(saved));
    expect(result).toBeTruthy();
    expect(await seen(1)).not.toEqual(await seen(0));
    // Not while its writer may still be at work.
    await feedback.settleEarly();
    expect(await seen(1)).not.toEqual(await seen(0));
    await repair();
    await expectSame();
    expect(await marksOf(saved.id)).toBe(0);
    await repair();
    await expectSame();
  });

  test("nothing is changed while ClickHouse is away, and the sender is told to come again", async () => {
    const run = await addRun();
    const saved = given(run, { key: "before" });
    await unlucky.save([saved]);
    await proxy.refuse();
    const away = { code: "database.unavailable", kind: "unavailable" };
    const unsaved = given(run);
    await expect(unlucky.save([unsaved])).rejects.toMatchObject(away);
    await expect(unlucky.update(workspaceId, saved.id, { score: 0 }, new Date())).rejects.toMatchObject(away);
    await expect(unlucky.remove(workspaceId, saved.id)).rejects.toMatchObject(away);
    await proxy.restore();
    const { rows } = await raw<{ id: string; score: number }>`select id, score from trace_feedback
      where id in (${saved.id}, ${unsaved.id})`.execute(both.testDatabase.database.sql);
    expect(rows).toEqual([{ id: saved.id, score: 1 }]);
    await repair();
    await expectSame();
    expect(await unlucky.save([unsaved])).toHaveLength(1);
    await expectSame();
  });

  test("a change that took longer than its mark stands is marked again", async () => {
    const run = await addRun();
    const saved = given(run, { key: "slow" });
    await feedback.save([saved]);
    const { clickHouse, testDatabase } = both;
    const { database } = testDatabase;
    const slow = new ClickHouseRunFeedback({ clickHouse, database, logger, repairAfterMs: 1 });
    await repair();
    const row = await holdRows(database, raw`select from trace_feedback where id = ${saved.id} for update`);
    const changing = slow.update(workspaceId, saved.id, { score: 0 }, new Date());
    await waitUntil(async () => (await marksOf(saved.id)) > 0, { what: "the mark", timeoutMs: 30_000 });
    await clickHouse.run("truncate table trace_feedback_marks");
    await row.letGo();
    await changing;
    expect(await marksOf(saved.id)).toBe(1);
    await expectSame();
  });
});
