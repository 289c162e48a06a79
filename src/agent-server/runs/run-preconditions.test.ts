import { describe, expect, test } from "vitest";
import { libraryTracing } from "../graphs/library-tracing.ts";
import { requireTracing } from "./run-preconditions.ts";
import type { RunRequest } from "./run-request.ts";

const example = "0b0e1f36-6a2a-4a8c-9c2c-2a1f0f6f6a11";
const refusal = (tracing: ReturnType<typeof libraryTracing>, asked: Partial<RunRequest>) => {
  try {
    requireTracing({ tracing, givesFeedback: true }, asked as RunRequest);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};

describe("langsmith_tracer", () => {
  const off = libraryTracing({ LANGSMITH_API_KEY: "key" }, { isDeployed: false });
  const alone = libraryTracing({ LANGCHAIN_TRACING_V2: "true" }, { isDeployed: false });
  const deployed = libraryTracing(
    { LANGSMITH_TRACING: "true", LANGSMITH_PROJECT: "mine" },
    { isDeployed: true },
  );

  test("where nothing is traced: refused, with what to set", () => {
    expect(refusal(off, {})).toBeNull();
    for (const asked of [{ tracing_project: "p" }, { tracing_example: example }])
      expect(refusal(off, asked)).toMatch(/LANGSMITH_TRACING=true/);
  });

  test("on a server of one's own: any project, any example", () => {
    expect(refusal(alone, { tracing_project: "p", tracing_example: example })).toBeNull();
  });

  test("on a deployment: examples, and no project but its own", () => {
    expect(refusal(deployed, { tracing_example: example, tracing_project: "mine" })).toBeNull();
    expect(refusal(deployed, { tracing_project: "other" })).toMatch(/its own project, "mine"/);
  });
});
