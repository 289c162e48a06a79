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
    expect(local.originOf("x")).toBe("http://x.localhost:8124");
    // As browsers write it.
    const spelt = originsOf("HTTPS://{slug}.Agents.example.com:443", "https://treadle.example.com");
    expect([spelt.originOf("x"), spelt.originOf("no_host")]).toEqual(["https://x.agents.example.com", null]);
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
