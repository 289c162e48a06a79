import { describe, expect, it } from "vitest";
import { requestHeaders, responseHeaders } from "./forward-headers.ts";

const facts = {
  port: 4000,
  host: "agents.example.com",
  protocol: "https",
  prefix: "/d/x",
  remote: "10.0.0.1",
};

describe("what is passed on", () => {
  it("keeps the platform's credentials from a project's code, unless it authenticates itself", () => {
    const sent = { "x-api-key": "k", authorization: "Bearer t", "x-tenant-id": "w", "x-custom": "1" };
    expect(requestHeaders(sent, facts, { usesOwnAuth: false })).toMatchObject({ "x-custom": "1" });
    expect(requestHeaders(sent, facts, { usesOwnAuth: false })).not.toHaveProperty("authorization");
    expect(requestHeaders(sent, facts, { usesOwnAuth: false })).not.toHaveProperty("x-api-key");
    expect(requestHeaders(sent, facts, { usesOwnAuth: true })).toMatchObject({
      authorization: "Bearer t",
      "x-api-key": "k",
    });
  });

  it("drops what is about the connection, and what a caller may not say about itself", () => {
    const sent = {
      connection: "keep-alive, x-hop",
      "x-hop": "1",
      "transfer-encoding": "chunked",
      "x-forwarded-for": "6.6.6.6",
      host: "evil",
      origin: "https://evil",
    };
    const headers = requestHeaders(sent, facts, { usesOwnAuth: false });
    expect(headers).toEqual({
      host: "127.0.0.1:4000",
      "x-forwarded-for": "10.0.0.1",
      "x-forwarded-host": "agents.example.com",
      "x-forwarded-proto": "https",
      "x-forwarded-prefix": "/d/x",
    });
  });

  it("prefixes redirects only", () => {
    expect(responseHeaders({ location: "/docs" }, 302, "/d/x").location).toBe("/d/x/docs");
    expect(responseHeaders({ location: "//elsewhere" }, 302, "/d/x").location).toBe("//elsewhere");
    expect(responseHeaders({ location: "/threads/1/runs/2" }, 200, "/d/x").location).toBe(
      "/threads/1/runs/2",
    );
  });
});
