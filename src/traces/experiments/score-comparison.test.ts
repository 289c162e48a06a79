import { expect, test } from "vitest";
import type { ExampleScore } from "../storage/run-stats.ts";
import { compareScores } from "./score-comparison.ts";

const score = (experiment_id: string, example_id: string, key: string, value: number): ExampleScore => ({
  experiment_id,
  example_id,
  key,
  score: value,
});

test("each experiment is compared with the first, key by key", () => {
  const scores = [
    score("a", "1", "right", 1),
    score("a", "2", "right", 0),
    score("a", "3", "right", 1),
    score("b", "1", "right", 0),
    score("b", "2", "right", 1),
    score("b", "3", "right", 1),
    score("b", "4", "right", 0),
    score("a", "1", "cost", 5),
    score("b", "1", "cost", 3),
    score("b", "3", "cost", 3),
  ];
  const found = compareScores(["a", "b"], scores, [], new Set(["cost"]));
  expect(found.keys).toEqual([
    {
      key: "cost",
      lower_is_better: true,
      experiments: [
        { experiment_id: "a", avg: 5, n: 1, better: 0, worse: 0, same: 0 },
        { experiment_id: "b", avg: 3, n: 2, better: 1, worse: 0, same: 0 },
      ],
    },
    {
      key: "right",
      lower_is_better: false,
      experiments: [
        { experiment_id: "a", avg: 2 / 3, n: 3, better: 0, worse: 0, same: 0 },
        { experiment_id: "b", avg: 0.5, n: 4, better: 1, worse: 1, same: 1 },
      ],
    },
  ]);
  // The first example got cheaper, but wrong.
  expect([found.worse, found.better]).toEqual([["1"], ["2"]]);
});

test("a run that fails now is worse, one that failed before is not", () => {
  const outcomes = ["1", "2", "3"].flatMap((example_id) => [
    { experiment_id: "a", example_id, failed: example_id === "2" },
    { experiment_id: "b", example_id, failed: example_id !== "3" },
  ]);
  expect(compareScores(["a", "b"], [], outcomes, new Set())).toEqual({ keys: [], worse: ["1"], better: [] });
});

test("the last digits of a mean are no change", () => {
  const scores = [score("a", "1", "k", 0.1 + 0.2), score("b", "1", "k", 0.3)];
  expect(compareScores(["a", "b"], scores, [], new Set())).toMatchObject({ worse: [], better: [] });
});
