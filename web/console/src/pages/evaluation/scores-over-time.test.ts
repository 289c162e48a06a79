import { expect, it } from "vitest";
import { scoresOverTime } from "./scores-over-time.ts";

const experiment = (second: number, scores: Record<string, number | null>) => ({
  start_time: new Date(second * 1_000).toISOString(),
  feedback_stats: Object.fromEntries(
    Object.entries(scores).map(([key, avg]) => [key, { n: 1, avg, stdev: null }]),
  ),
});

it("has a line for each key, oldest first, without what was not scored", () => {
  const lines = scoresOverTime([
    experiment(30, { right: 1, tone: null, once: 1 }),
    experiment(10, { right: 0.5, tone: 1 }),
    experiment(20, { right: 0.75, tone: 0 }),
    { start_time: new Date(5_000).toISOString(), feedback_stats: null },
  ]);
  expect(lines).toEqual([
    { key: "right", times: [10, 20, 30], values: [0.5, 0.75, 1] },
    { key: "tone", times: [10, 20], values: [1, 0] },
  ]);
});

it("times ascend where two began at once", () => {
  const [line] = scoresOverTime([experiment(10, { a: 1 }), experiment(10, { a: 2 })]);
  expect(line!.times).toEqual([10, 10.001]);
});
