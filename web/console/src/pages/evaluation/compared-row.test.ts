import { expect, it } from "vitest";
import { type ExperimentRun, outcomesOf } from "./compared-row.ts";

const run = (project_id: string, fields: Partial<ExperimentRun> = {}): ExperimentRun => ({
  id: crypto.randomUUID(),
  project_id,
  status: "SUCCESS",
  latency_seconds: 1,
  total_cost: null,
  ...fields,
});

it("has what each experiment made of an example, and what changed since the first", () => {
  const runs = [
    run("b", { outputs: { a: 2 }, feedback_stats: { right: { n: 1, avg: 0 }, said: { n: 1, avg: null } } }),
    run("a", { outputs: { a: 1 }, feedback_stats: { right: { n: 1, avg: 1 } } }),
    run("c", { outputs: { a: 1 }, error: "boom" }),
    run("b", { outputs: { a: 1 }, feedback_stats: { right: { n: 3, avg: 1 } } }),
  ];
  const outcomes = outcomesOf({ id: "e", runs }, ["a", "b", "c", "d"]);
  expect(
    outcomes.map(({ experimentId, runs: own, scores, hasFailed, hasChanged }) => [
      experimentId,
      own.length,
      scores,
      hasFailed,
      hasChanged,
    ]),
  ).toEqual([
    ["a", 1, { right: 1 }, false, null],
    ["b", 2, { right: 0.75 }, false, true],
    ["c", 1, {}, true, false],
    ["d", 0, {}, false, null],
  ]);
});
