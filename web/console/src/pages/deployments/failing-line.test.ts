import { expect, it } from "vitest";
import type { LogLine } from "../../api/wire.ts";
import { failureHref, findFailingLine } from "./failing-line.ts";

const at = "2026-01-01T00:00:00Z";
const log = (...messages: (string | [string, "project" | "platform"])[]): LogLine[] =>
  messages.map((given, index) => {
    const [message, origin] = typeof given === "string" ? [given, "project" as const] : given;
    return { id: String(index), timestamp: at, level: "INFO", message, origin } as LogLine;
  });
const failure = { file: "src/agent.ts", line: 1, column: null, reason: "Unexpected", output: [] };

it.each([
  "/build/src/agent.ts:1:21: ERROR: Unexpected",
  "src/agent.ts(1,9): error TS2322: Unexpected",
  'File "/build/src/agent.ts", line 1, in <module>',
  "Unexpected (src/agent.ts, line 1)",
])("finds the place in: %s", (message) => {
  expect(findFailingLine(log("src/agent.ts:15: fine", message, "bye"), failure)).toBe("1");
});

it("prefers what the project printed to what the platform repeats", () => {
  const lines = log(["failed at src/agent.ts:1", "platform"], "src/agent.ts:1 wrong");
  expect(findFailingLine(lines, failure)).toBe("1");
  expect(findFailingLine(lines.slice(0, 1), failure)).toBe("0");
});

it("falls back to the reason, then to the last line of the output, then to nothing", () => {
  const noFile = { ...failure, file: null, line: null, output: ["npm error 404", "  npm error done "] };
  expect(findFailingLine(log("npm error Unexpected"), noFile)).toBe("0");
  expect(findFailingLine(log("npm error done"), noFile)).toBe("0");
  expect(findFailingLine(log("fine"), { ...noFile, output: [] })).toBeNull();
});

it("leads to the log in which the revision failed", () => {
  expect(failureHref("d", { id: "r", status: "BUILD_FAILED" })).toBe(
    "/deployments/d/revisions/r?tab=build&line=failure",
  );
  expect(failureHref("d", { id: "r", status: "DEPLOY_FAILED" })).toContain("tab=server");
});
