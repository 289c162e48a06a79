import { describe, expect, it } from "vitest";
import { judgeRecords, proofOf, readDomain, reservedProblem } from "./domain.ts";

const [one, other] = ["0198f5a0-0000-7000-8000-000000000001", "0198f5a0-0000-7000-8000-000000000002"];
const proof = (deploymentId: string) =>
  proofOf({ domain: "agent.example.com", deployment_id: deploymentId }).value;

describe("a domain", () => {
  it.each([
    ["agent.example.com", "agent.example.com"],
    [" Agent.Example.COM. ", "agent.example.com"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["a-b.c1.co.uk", "a-b.c1.co.uk"],
    ["3com.example.com", "3com.example.com"],
    ["agent.internal", "agent.internal"],
  ])("%s is %s", (given, domain) => {
    expect(readDomain(given)).toEqual({ domain });
  });

  it.each([
    ["https://agent.example.com", "a host alone"],
    ["agent.example.com/path", "a host alone"],
    ["user@example.com", "a host alone"],
    ["agent.example.com:8443", "without a port"],
    ["*.example.com", "wildcards"],
    ["127.0.0.1", "not an address"],
    ["127.1", "not an address"],
    ["0x7f.1", "not an address"],
    ["2130706433", "not an address"],
    ["１２７.0.0.1", "not an address"],
    ["::1", "not an address"],
    ["[::1]", "not an address"],
    ["localhost", "with a dot"],
    ["agent.localhost", "with a dot"],
    ["agent.LOCALHOST.", "with a dot"],
    ["agent", "with a dot"],
    ["1.0.0.127.in-addr.arpa", "with a dot"],
    ["a_b.example.com", "letters, digits"],
    ["-a.example.com", "letters, digits"],
    ["a..example.com", "letters, digits"],
    [`${"x".repeat(64)}.example.com`, "letters, digits"],
    [`${"x.".repeat(121)}example.com`, "at most 244"],
    ["", "letters, digits"],
    ["a b.example.com", "a host alone"],
    ["a\\b.example.com", "a host alone"],
  ])("%s is none: %s", (given, problem) => {
    expect(readDomain(given)).toEqual({ problem: expect.stringContaining(problem) });
  });

  it("is never a host of the installation itself", () => {
    const hosts = { platform: "Treadle.example.com", deploymentsBase: "agents.example.com" };
    expect(reservedProblem("treadle.example.com", hosts)).toContain("platform itself");
    for (const domain of ["agents.example.com", "x.agents.example.com", "a.b.agents.example.com"])
      expect(reservedProblem(domain, hosts)).toContain("under agents.example.com");
    for (const domain of ["example.com", "myagents.example.com", "agents.example.com.evil.example"])
      expect(reservedProblem(domain, hosts)).toBeNull();
    expect(reservedProblem("x.agents.example.com", { ...hosts, deploymentsBase: null })).toBeNull();
  });
});

describe("its proof", () => {
  it("is one for each deployment, and does not show its id", () => {
    expect(proofOf({ domain: "agent.example.com", deployment_id: one })).toEqual({
      name: "_treadle.agent.example.com",
      value: expect.stringMatching(/^treadle-domain=[0-9a-f]{32}$/),
    });
    expect(proof(one)).not.toBe(proof(other));
    expect(proof(one)).toBe(proof(one.toUpperCase()));
  });

  it("counts among other records, and nobody else's does", () => {
    expect(judgeRecords([], one, null)).toBe("record_missing");
    expect(judgeRecords(["v=spf1 -all"], one, null)).toBe("record_missing");
    expect(judgeRecords([proof(other)], one, null)).toBe("record_other");
    expect(judgeRecords([`${proof(one)}x`], one, null)).toBe("record_other");
    expect(judgeRecords(["v=spf1 -all", ` ${proof(one)} `, proof(other)], one, null)).toBeNull();
  });

  it("takes a domain from one whose record is gone, and not from one whose record is there", () => {
    expect(judgeRecords([proof(one)], one, other)).toBeNull();
    expect(judgeRecords([proof(one), proof(other)], one, other)).toBe("claimed_elsewhere");
    expect(judgeRecords([proof(other)], one, other)).toBe("record_other");
  });
});
