import { describe, expect, it } from "vitest";
import { keepMasked, maskSecrets, secretMask, secretProblems } from "./secret-rules.ts";

describe("secrets", () => {
  it.each([
    "POSTGRES_URI",
    "LANGSMITH_TENANT_ID",
    "PORT",
    "PATH",
    "TREADLE_HOST",
    "NODE_OPTIONS",
    "DATABASE_URL",
  ])("%s is reserved", (name) => {
    expect(secretProblems([{ name, value: "x" }], "self-hosted")).toHaveLength(1);
  });

  it("lets an operator of their own machine choose where traces go, but not a customer of a service", () => {
    const secrets = [{ name: "LANGSMITH_API_KEY", value: "x" }];
    expect(secretProblems(secrets, "self-hosted")).toEqual([]);
    expect(secretProblems(secrets, "cloud")).toHaveLength(1);
  });

  it("takes the mask for the value before, and only where there was one", () => {
    const before = [{ name: "A", value: "1" }];
    expect(
      keepMasked(
        [
          { name: "A", value: secretMask },
          { name: "B", value: "2" },
        ],
        before,
      ),
    ).toEqual([
      { name: "A", value: "1" },
      { name: "B", value: "2" },
    ]);
    expect(keepMasked([{ name: "C", value: secretMask }], before)).toEqual({ unknown: "C" });
    expect(maskSecrets(before)).toEqual([{ name: "A", value: secretMask }]);
  });
});
