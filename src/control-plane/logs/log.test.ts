import { describe, expect, it } from "vitest";
import { cut, parseServerLine, plainLine, redact } from "./log.ts";

const now = new Date("2026-01-01T00:00:00Z");

describe("log lines", () => {
  it("reads a logger's JSON, and takes anything else as it is", () => {
    const line = '{"level":50,"time":"2026-02-03T04:05:06.000Z","msg":"it broke","run_id":"r1"}';
    expect(parseServerLine(line, now)).toEqual({
      ...{
        at: new Date("2026-02-03T04:05:06.000Z"),
        level: "ERROR",
        message: 'it broke {"run_id":"r1"}',
        runId: "r1",
      },
    });
    expect(parseServerLine("hello", now)).toMatchObject({ at: now, level: "INFO", message: "hello" });
    expect(parseServerLine('{"not": "ours"}', now)).toMatchObject({ message: '{"not": "ours"}' });
    expect(parseServerLine("{cut off", now)).toMatchObject({ message: "{cut off" });
  });

  it("drops what a database cannot keep and a page should not show", () => {
    expect(plainLine("\u001b[31mred\u001b[0m\u0000\ud800")).toBe("red\ufffd");
    expect(plainLine("x".repeat(20_000)).length).toBeLessThan(17_000);
  });

  it("keeps what a graph prints to what can be stored and sent", () => {
    const printed = (fields: object) =>
      parseServerLine(JSON.stringify({ level: 30, msg: "x", ...fields }), now);
    expect(printed({ run_id: "r".repeat(300) }).runId).toBe("r".repeat(200));
    expect(printed({ runId: "a\u0000b" }).runId).toBe("ab");
    for (const time of ["+275760-09-13T00:00:00Z", "-000001-01-01T00:00:00Z", "0000-01-01T00:00:00Z"])
      expect(printed({ time }).at).toBe(now);
    expect(cut("ab\u{1f600}", 3)).toBe("ab\ufffd");
  });

  it("hides secrets, but not short words", () => {
    expect(redact("token abcdef and on", ["abcdef", "on"])).toBe("token ******** and on");
  });
});
