import { expect, it } from "vitest";
import { cpuProblem, limitsBody, limitTexts, memoryProblem } from "./limits.ts";

const deployment = (resource_spec: Record<string, unknown> | null) =>
  ({ source_config: { resource_spec } }) as Parameters<typeof limitTexts>[0];

it("shows what is set, and sends only what was changed", () => {
  const set = deployment({ cpu_limit: 0.5, memory_limit_mb: 512, min_scale: 1 });
  expect(limitTexts(set)).toEqual({ cpu: "0.5", memory: "512" });
  expect(limitTexts(deployment(null))).toEqual({ cpu: "", memory: "" });
  expect(limitsBody(set, { cpu: "0.5", memory: "512 " })).toEqual({});
  expect(limitsBody(set, { cpu: "1,5", memory: "512" })).toEqual({
    resource_spec: { min_scale: 1, cpu_limit: 1.5, memory_limit_mb: 512 },
  });
  expect(limitsBody(set, { cpu: "", memory: "" })).toEqual({ resource_spec: { min_scale: 1 } });
});

it("names what cannot be a limit", () => {
  expect([cpuProblem(""), cpuProblem("0.5"), memoryProblem(""), memoryProblem("64")]).toEqual([
    null,
    null,
    null,
    null,
  ]);
  for (const wrong of [
    cpuProblem("0"),
    cpuProblem("x"),
    cpuProblem("17"),
    memoryProblem("63"),
    memoryProblem("1.5"),
  ])
    expect(wrong).not.toBeNull();
});
