import { describe, expect, it } from "vitest";
import {
  type AlertKind,
  type AlertState,
  alertStates,
  alertTransitions,
  canJudge,
  judge,
  type Measured,
} from "./alert.ts";
import { kindProblem } from "./alert-rules.ts";
import { eventText, windowText } from "./alert-text.ts";

const runs = (count: number, errors: number, p95Seconds: number | null = null): Measured => ({
  kind: "runs",
  figures: { runs: count, errors, p95Seconds },
});
const rule = (kind: AlertKind, threshold: number | null, min_runs = 1) => ({ kind, threshold, min_runs });

describe("what is judged", () => {
  it("an error rate is percent of the runs, from the least number of runs on", () => {
    expect(judge(rule("error_rate", 10), runs(10, 1))).toEqual({ verdict: "breached", value: 10 });
    expect(judge(rule("error_rate", 10), runs(11, 1)).verdict).toBe("clear");
    expect(judge(rule("error_rate", 10, 5), runs(4, 4))).toEqual({ verdict: "clear", value: 100 });
    expect(judge(rule("error_rate", 10), runs(0, 0))).toEqual({ verdict: "clear", value: null });
  });

  it("a latency is of runs that ended", () => {
    expect(judge(rule("latency_p95", 2), runs(5, 0, 2.5))).toEqual({ verdict: "breached", value: 2.5 });
    expect(judge(rule("latency_p95", 2), runs(5, 0, null))).toEqual({ verdict: "clear", value: null });
  });

  it("traffic is there or not, and exports are counted", () => {
    expect(judge(rule("no_traffic", null), { kind: "traffic", seen: false }).verdict).toBe("breached");
    expect(judge(rule("no_traffic", null), { kind: "traffic", seen: true }).verdict).toBe("clear");
    expect(judge(rule("export_failed", 2), { kind: "exports", failed: 1 }).verdict).toBe("clear");
    expect(judge(rule("export_failed", 2), { kind: "exports", failed: 2 }).verdict).toBe("breached");
  });

  it("missing traffic only after a whole window", () => {
    const now = new Date("2026-01-01T12:00:00Z");
    const made = (minutes: number) => new Date(now.getTime() - minutes * 60_000);
    const of = (kind: AlertKind, minutes: number) =>
      canJudge({ kind, created_at: made(minutes), window_minutes: 15 }, now);
    expect([of("no_traffic", 14), of("no_traffic", 15), of("error_rate", 0)]).toEqual([false, true, true]);
  });
});

it("fires once, resolves once, and fires again", () => {
  const seen: AlertState[] = ["ok"];
  for (const verdict of ["breached", "breached", "clear", "clear", "breached"] as const)
    seen.push(alertTransitions[seen.at(-1)!][verdict]);
  expect(seen).toEqual(["ok", "firing", "firing", "resolved", "resolved", "firing"]);
  expect(Object.keys(alertTransitions)).toEqual([...alertStates]);
});

it("each kind has its threshold", () => {
  expect(kindProblem(rule("no_traffic", null))).toBeNull();
  expect(kindProblem(rule("no_traffic", 1))).not.toBeNull();
  expect(kindProblem(rule("error_rate", null))?.message).toContain("percent");
  expect(kindProblem(rule("error_rate", 101))).not.toBeNull();
  expect(kindProblem(rule("export_failed", 1.5))).not.toBeNull();
  expect(kindProblem(rule("latency_p95", 0.5))).toBeNull();
});

it("says what happened, where and when in one sentence", () => {
  const about = {
    name: "Errors",
    kind: "error_rate",
    scope: "deployment",
    window_minutes: 15,
    threshold: 10,
  } as const;
  expect(eventText(about, "firing", { value: 42.857, scopeName: "support" })).toBe(
    "Firing: Errors: 42.86 % of the runs failed (threshold 10 %) in the deployment support in the last 15 min.",
  );
  const quiet = { ...about, kind: "no_traffic", scope: "workspace", window_minutes: 120 } as const;
  expect(eventText(quiet, "resolved", { value: null, scopeName: null })).toBe(
    "Resolved: Errors: runs begin again in the workspace in the last 2 hours.",
  );
  expect([windowText(60), windowText(90)]).toEqual(["hour", "90 min"]);
});
