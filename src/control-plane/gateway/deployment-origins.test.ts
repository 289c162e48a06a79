import { describe, expect, it } from "vitest";
import { DeploymentOrigins } from "./deployment-origins.ts";

const originsOf = (pattern: string | null, platformUrl: string) =>
  new DeploymentOrigins({ pattern: () => pattern, platformUrl: () => platformUrl });

describe("a deployment's own origin", () => {
  const local = originsOf("http://{slug}.localhost:8124", "http://127.0.0.1:8124");
  const elsewhere = originsOf("https://{slug}-a.agents.example.com", "https://treadle.example.com");

  it("is known by the host, whatever the port says", () => {
    expect(local.slugOf("my-agent-1.localhost:8124")).toBe("my-agent-1");
    expect(local.slugOf("My-Agent-1.LOCALHOST.")).toBe("my-agent-1");
    expect(elsewhere.slugOf("x-a.agents.example.com")).toBe("x");
    expect(local.urlOf("x")).toBe("http://x.localhost:8124");
    expect(elsewhere.urlOf("x")).toBe("https://x-a.agents.example.com");
    expect(local.originsOf("x")).toEqual(["http://x.localhost:8124"]);
    // As browsers write it.
    const spelt = originsOf("HTTPS://{slug}.Agents.example.com:443", "https://treadle.example.com");
    expect(spelt.originsOf("x")).toEqual(["https://x.agents.example.com"]);
    expect(spelt.originsOf("no_host")).toEqual([]);
    expect([local.protocolOf("x.localhost", ""), elsewhere.protocolOf("x", "")]).toEqual(["http", "https"]);
  });

  it("has the scheme its clients use; under a path that is the platform's", () => {
    expect(elsewhere.protocolOf("treadle.example.com", "/d/x")).toBe("https");
    // Past the proxy, on the machine itself.
    expect(elsewhere.protocolOf("127.0.0.1:8124", "/d/x")).toBe("http");
    expect(local.protocolOf("127.0.0.1:8124", "/d/x")).toBe("http");
    const tlsHere = originsOf(null, "https://localhost:8443");
    expect(tlsHere.protocolOf("localhost:8443", "/d/x")).toBe("https");
  });

  it("is not the platform's", () => {
    for (const host of [
      "127.0.0.1:8124",
      "localhost:8124",
      "[::1]:8124",
      "localhost.",
      "evil.example",
      undefined,
    ])
      expect(local.slugOf(host)).toBeNull();
    expect(elsewhere.slugOf("treadle.example.com")).toBeNull();
    expect(elsewhere.slugOf("agents.example.com")).toBeNull();
    expect(elsewhere.slugOf("x.localhost")).toBeNull();
    const named = originsOf("http://{slug}.localhost:8124", "http://treadle.localhost:8124");
    expect([named.slugOf("treadle.localhost:8124"), named.slugOf("x.localhost")]).toEqual([null, "x"]);
  });

  it("takes in every host below, so that none of them is taken for the platform", () => {
    for (const host of ["a.b.localhost", "-x.localhost", "x_y.localhost", `${"x".repeat(64)}.localhost`])
      expect(local.slugOf(host)).toBe("");
  });

  it("tells pages of deployments from others", () => {
    expect(local.isDeploymentOrigin("http://x.localhost:8124")).toBe(true);
    expect(local.isDeploymentOrigin("http://a.b.localhost:9999")).toBe(true);
    expect(local.isDeploymentOrigin("http://localhost:8124")).toBe(false);
    expect(local.isDeploymentOrigin("null")).toBe(false);
    expect(originsOf(null, "https://x").isDeploymentOrigin("http://x.localhost")).toBe(false);
  });

  it("has none where there is no pattern or the name is too long for a host", () => {
    expect(originsOf(null, "https://x").urlOf("x")).toBeNull();
    expect(local.urlOf("x".repeat(64))).toBeNull();
    expect(elsewhere.urlOf("x".repeat(62))).toBeNull();
  });
});

describe("a deployment's domains", () => {
  const served = new Map([
    ["agent.example.com", "bot-1"],
    ["bot.example.org", "bot-1"],
    // Given before the settings were changed.
    ["treadle.example.com", "evil-1"],
    ["x.agents.example.com", "evil-1"],
  ]);
  const domains = {
    slugOf: (hostname: string) => served.get(hostname) ?? null,
    domainsOf: (slug: string) => [...served].filter(([, each]) => each === slug).map(([domain]) => domain),
  };
  const at = (pattern: string | null, platformUrl: string) =>
    new DeploymentOrigins({ pattern: () => pattern, platformUrl: () => platformUrl, domains });
  const origins = at("https://{slug}.agents.example.com", "https://treadle.example.com");

  it("lead to it at their root, with or without a pattern", () => {
    for (const each of [origins, at(null, "https://treadle.example.com")]) {
      expect(each.slugOf("agent.example.com")).toBe("bot-1");
      expect(each.slugOf("Agent.Example.COM.:443")).toBe("bot-1");
      expect(each.slugOf("other.example.com")).toBeNull();
      expect(each.originAt("Agent.Example.COM.", "bot-1")).toBe("https://agent.example.com");
      expect(each.protocolOf("agent.example.com", "")).toBe("https");
      expect(each.isDeploymentOrigin("https://agent.example.com")).toBe(true);
    }
    expect(origins.originsOf("bot-1")).toEqual([
      "https://bot-1.agents.example.com",
      "https://agent.example.com",
      "https://bot.example.org",
    ]);
    expect(origins.originAt("bot-1.agents.example.com", "bot-1")).toBe("https://bot-1.agents.example.com");
  });

  it("are never the platform's host, nor one that is named after a deployment", () => {
    expect(origins.slugOf("treadle.example.com")).toBeNull();
    expect(origins.slugOf("x.agents.example.com")).toBe("x");
    expect(origins.originAt("x.agents.example.com", "x")).toBe("https://x.agents.example.com");
    expect(origins.reserved()).toEqual({
      platform: "treadle.example.com",
      deploymentsBase: "agents.example.com",
    });
    expect(at(null, "http://127.0.0.1:8124").reserved().deploymentsBase).toBeNull();
  });

  it("have the scheme and the port of the platform's own address", () => {
    expect(at(null, "http://127.0.0.1:8124").urlOfDomain("a.example.com")).toBe("http://a.example.com:8124");
    expect(at(null, "https://t.example.com:443").urlOfDomain("a.example.com")).toBe("https://a.example.com");
    expect(at(null, "http://127.0.0.1:8124").protocolOf("agent.example.com:8124", "")).toBe("http");
  });
});
