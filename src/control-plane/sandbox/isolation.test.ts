import { describe, expect, it } from "vitest";
import { decideIsolation, describeIsolation, type MachineFacts } from "./isolation.ts";

const works = { works: true } as const;
const refuses = { works: false, reason: "bubblewrap is not installed", fix: "Install it." } as const;
const machine = (more: Partial<MachineFacts> = {}): MachineFacts => ({
  ...{ setting: "auto", isRoot: false, sandbox: works, closedFolder: null },
  ...more,
});

describe("what stands around deployed code", () => {
  it("is a sandbox wherever one can be had", () => {
    for (const setting of ["auto", "required"] as const) {
      for (const isRoot of [true, false]) {
        const decided = decideIsolation(machine({ setting, isRoot, closedFolder: "/root" }));
        expect(decided).toMatchObject({ kind: "sandbox", refusal: null, problem: null });
      }
    }
  });

  it("is a user of its own where root has no sandbox", () => {
    const decided = decideIsolation(machine({ isRoot: true, sandbox: refuses }));
    expect(decided).toMatchObject({ kind: "users", refusal: null, problem: "bubblewrap is not installed" });
    expect(describeIsolation(decided)).toContain("its own user, without a sandbox");
  });

  it("is never root because a user cannot get there: nothing is deployed", () => {
    const decided = decideIsolation(machine({ isRoot: true, sandbox: refuses, closedFolder: "/root" }));
    expect(decided.refusal).toContain("a user without privileges cannot access /root");
    expect(decided.refusal).toContain("Install it.");
  });

  it("is nothing for an ordinary user without a sandbox, and that is shown plainly", () => {
    const decided = decideIsolation(machine({ sandbox: refuses }));
    expect(decided).toMatchObject({ kind: "none", refusal: null });
    expect(describeIsolation(decided)).toMatch(/of all workspaces runs as the platform's own user/);
  });

  it("is required by a setting: nothing is deployed without a sandbox", () => {
    for (const isRoot of [true, false]) {
      const decided = decideIsolation(machine({ setting: "required", isRoot, sandbox: refuses }));
      expect(decided.refusal).toContain(
        "TREADLE_ISOLATION=required, and bubblewrap is not installed. Install it.",
      );
    }
  });

  it("is nothing when it is switched off", () => {
    expect(decideIsolation(machine({ setting: "off", isRoot: true }))).toMatchObject({
      kind: "none",
      refusal: null,
    });
  });
});
