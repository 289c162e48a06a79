import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openMigrated } from "../../../../../tests/support/both-engines.ts";
import { insertJudged } from "../../../../../tests/support/clickhouse-rows.ts";
import {
  type ClickHouse as Server,
  startClickHouse,
} from "../../../../../tests/support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../../../../../tests/support/components/clickhouse-library.ts";
import { type Judged, judge, print } from "../../../../../tests/support/filter-evaluator.ts";
import { Maker, makeRun, makeTree } from "../../../../../tests/support/generated-filters.ts";
import { oddPayloads } from "../../../../../tests/support/odd-payloads.ts";
import { sampleRun } from "../../../../../tests/support/trace-rows.ts";
import type { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import { parseFilter } from "../../../filter/parse-filter.ts";
import { compileFilter } from "./compile-filter.ts";
import { Values } from "./condition.ts";

const workspace_id = randomUUID();
const session_id = randomUUID();
let server: Server;
let clickHouse: ClickHouse;

// The first run on a machine fetches it.
beforeAll(async () => {
  server = await startClickHouse();
  clickHouse = await openMigrated(server);
}, clickHouseStartLimitMs);
afterAll(async () => {
  await clickHouse?.close();
  await server?.stop();
});
beforeEach(async () => {
  await clickHouse.run("truncate table trace_runs");
  await clickHouse.run("truncate table trace_feedback");
});

/** Which runs each filter finds. Asked together: a statement costs more than a filter. */
async function matching(texts: readonly string[]): Promise<string[][]> {
  const values = new Values();
  const conditions = texts.map(
    (text) => `ifNull(${compileFilter(parseFilter(text), workspace_id, values)}, false)`,
  );
  const rows = await clickHouse.rows<{ id: string; found: boolean[] }>(
    `select id, [${conditions.join(", ")}] as found from trace_runs final order by id`,
    { params: values.params },
  );
  return texts.map((_, index) =>
    rows
      .filter(({ found }) => found[index])
      .map(({ id }) => id)
      .sort(),
  );
}

describe("filters compiled for ClickHouse", () => {
  test.each([1, 2, 3])("agree with an independent evaluator, seed %i", { timeout: 300_000 }, async (seed) => {
    const make = new Maker(seed);
    const runs = Array.from({ length: 40 }, () => makeRun(make, { workspace_id, session_id }));
    await insertJudged(clickHouse, runs);
    let found = 0;
    for (let round = 0; round < 40; round++) {
      const trees = Array.from({ length: 10 }, () => makeTree(make, 3));
      const answers = await matching(trees.map(print));
      for (const [index, tree] of trees.entries()) {
        const expected = runs.filter((run) => judge(tree, run)).map((run) => run.id);
        expect(answers[index], print(tree)).toEqual(expected.sort());
        if (expected.length > 0 && expected.length < runs.length) found += 1;
      }
    }
    // The comparison would be worth little if the filters let through all or nothing.
    expect(found).toBeGreaterThan(150);
  });

  test.each(oddPayloads)("%s is found by %s", async (inputs, text) => {
    const judged = (payload: string): Judged => ({
      ...sampleRun({ workspace_id, session_id, inputs: JSON.parse(payload) as Record<string, unknown> }),
      feedback: [],
    });
    const [run, other] = [judged(inputs), judged('{"other": "thing"}')];
    await insertJudged(clickHouse, [run, other]);
    // As the client wrote it, not as it would be written again.
    await clickHouse.insert("trace_runs", [{ ...(await stored(run.id)), inputs }]);
    expect(await matching([text])).toEqual([[run.id]]);
  });

  test("look at feedback of the workspace alone", async () => {
    const of = (workspace: string): Judged => {
      const run = sampleRun({ workspace_id: workspace, session_id });
      return { ...run, feedback: [{ workspace_id: workspace, run_id: run.id, key: "k", score: 1 }] };
    };
    const [mine, foreign] = [of(workspace_id), of(randomUUID())];
    await insertJudged(clickHouse, [mine, foreign]);
    expect(await matching(['eq(feedback_key, "k")', "gt(feedback_score, 0.5)"])).toEqual([
      [mine.id],
      [mine.id],
    ]);
  });
});

async function stored(id: string): Promise<object> {
  const [row] = await clickHouse.rows<object>("select * from trace_runs final where id = {id: UUID}", {
    params: { id },
  });
  return row!;
}
