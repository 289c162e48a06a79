import { expect, it } from "vitest";
import { isCurrent, places } from "./navigation.ts";

it.each([
  ["/", ["Overview"]],
  ["/deployments", ["Deployments"]],
  ["/deployments/1/logs", ["Deployments"]],
  ["/deploymentsx", []],
  ["/o/tenant/projects/p/1/r/2", ["Traces"]],
  ["/o/tenant/datasets/1/compare", ["Evaluation"]],
  ["/datasets/1", ["Evaluation"]],
  ["/queues", ["Evaluation"]],
])("%s belongs to %j", (path, expected) => {
  expect(places.filter((place) => isCurrent(place, path)).map(({ label }) => label)).toEqual(expected);
});

it("no two places share a key", () => {
  expect(new Set(places.map(({ letter }) => letter)).size).toBe(places.length);
});
