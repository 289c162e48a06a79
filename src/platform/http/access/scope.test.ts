import { describe, expect, test } from "vitest";
import { checkDemand } from "../pipeline/authorize.ts";
import type { Demand } from "../route.ts";
import type { Caller } from "./caller.ts";
import { mayGiveScopes, type Scope, scopes, scopesCover } from "./scope.ts";

const caller = (more: Partial<Caller> = {}): Caller => ({
  organizationId: "o",
  workspaceId: "w",
  userId: "u",
  role: "admin",
  via: "api_key",
  scopes: null,
  mayUseAccounts: true,
  ...more,
});

function refusal(who: Caller, demand: Demand): { code: string; message: string; headers: unknown } | null {
  try {
    checkDemand(who, demand);
    return null;
  } catch (error) {
    return error as { code: string; message: string; headers: unknown };
  }
}

describe("what covers what", () => {
  test("no scopes limit nothing, admin covers all, and no other covers another", () => {
    for (const needed of scopes) {
      expect(scopesCover(null, needed)).toBe(true);
      for (const held of scopes) {
        expect(scopesCover([held], needed), `${held} for ${needed}`).toBe(
          held === "admin" || held === needed,
        );
      }
    }
  });

  test("of several any one is enough", () => {
    expect(scopesCover(["runs"], ["read", "runs"])).toBe(true);
    expect(scopesCover(["deploy"], ["read", "runs"])).toBe(false);
    expect(scopesCover([], ["read", "runs"])).toBe(false);
  });

  test("a credential gives on what it has, and no key without limits unless it has none itself", () => {
    const may: [Scope[] | null, Scope[] | null, boolean][] = [
      [null, null, true],
      [null, ["runs"], true],
      [["admin"], null, true],
      [["runs", "read"], ["read"], true],
      [["runs"], ["read"], false],
      [["runs"], null, false],
    ];
    for (const [held, wanted, expected] of may) expect(mayGiveScopes(held, wanted)).toBe(expected);
  });
});

describe("403", () => {
  test("names the scope that is missing and those that are there", () => {
    const refused = refusal(caller({ scopes: ["read", "deploy"] }), { role: "editor", scope: "runs" });
    expect(refused).toMatchObject({ code: "request.scope_missing", kind: "forbidden" });
    expect(refused?.message).toBe(
      "This needs the scope runs; the credential has the scopes read, deploy. Use a key that has it.",
    );
    expect(refused?.headers).toEqual({
      "www-authenticate": 'Bearer error="insufficient_scope", scope="runs"',
    });
  });

  test("where a key must name the scope itself, no session and no admin will do", () => {
    const demand = { role: "editor", scope: "listener", namedByKey: true } as const;
    const named = ["read", "listener"] as const;
    expect(refusal(caller({ via: "service", scopes: named }), demand)).toBeNull();
    expect(refusal(caller({ via: "api_key", scopes: ["admin", "listener"] }), demand)).toBeNull();
    for (const other of [
      { via: "api_key", scopes: null },
      { via: "api_key", scopes: ["admin"] },
      { via: "session", scopes: named },
      { via: "console", scopes: named },
    ] as const) {
      const refused = refusal(caller(other), demand);
      expect(refused).toMatchObject({ code: "request.scope_missing", kind: "forbidden" });
      expect(refused?.message).toContain("treadle keys create NAME --service --scope listener");
    }
  });

  test("the role comes first", () => {
    const refused = refusal(caller({ role: "viewer", scopes: [] }), { role: "editor", scope: "runs" });
    expect(refused?.code).toBe("request.role_too_low");
  });

  test("a credential of one tracing project opens only what keeps it to that project", () => {
    const one = caller({ via: "service", scopes: ["traces:write"], tracingProject: "mine" });
    const demand = { role: "editor", scope: "traces:write" } as const;
    expect(refusal(one, demand)?.code).toBe("request.tracing_project_only");
    expect(refusal(one, { ...demand, checksTracingProject: true })).toBeNull();
  });

  test("accounts are for the person whose they are, whatever the scopes", () => {
    const demand = { role: "viewer", scope: "accounts" } as const;
    expect(refusal(caller({ mayUseAccounts: false }), demand)?.code).toBe("request.accounts_not_yours");
    expect(
      refusal(caller({ mayUseAccounts: false }), { role: "viewer", scope: ["read", "accounts"] }),
    ).toBeNull();
    expect(refusal(caller(), demand)).toBeNull();
  });
});
