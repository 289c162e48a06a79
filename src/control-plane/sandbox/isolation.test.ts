import { describe, expect, it } from "vitest";
import { decideIsolation, describeIsolation, inContainers, type MachineFacts } from "./isolation.ts";

const works = { works: true } as const;
const refuses = { works: false, reason: "bubblewrap is not installed", fix: "Install it." } as const;
const machine = (more: Partial<MachineFacts> = {}): MachineFacts => ({
  ...{ setting: "auto", isRoot: false, sandbox: works, closedFolder: null, besideCluster: false },
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

  it("lets nobody build beside a cluster's credentials, except in a sandbox or where the operator says so", () => {
    const decide = (more: Partial<MachineFacts>) =>
      inContainers(decideIsolation(machine({ besideCluster: true, ...more })));
    expect(decide({})).toMatchObject({ kind: "containers", problem: null, refusal: null });
    expect(describeIsolation(decide({}))).toBe("Deployed code runs in containers.");
    for (const isRoot of [true, false]) {
      const refused = decide({ isRoot, sandbox: refuses });
      expect(refused.kind).toBe("containers");
      expect(refused.refusal).toMatch(
        /^Nothing is built here: .*credentials of the cluster, because bubblewrap is not installed\. Install it\./,
      );
    }
    const off = decide({ setting: "off", sandbox: refuses });
    expect(off).toMatchObject({ kind: "containers", refusal: null });
    expect(describeIsolation(off)).toMatch(/builds run without a sandbox .*TREADLE_ISOLATION=auto\.$/);
  });

  it("is nothing when it is switched off", () => {
    expect(decideIsolation(machine({ setting: "off", isRoot: true }))).toMatchObject({
      kind: "none",
      refusal: null,
    });
  });
});
