import { describe, expect, it } from "vitest";
import { requestHead, requestHeaders, responseHeaders } from "./forward-headers.ts";

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
      "x-forwarded-origin": "https://evil",
    });
  });

  it("passes the origin on where the server behind would not mistake it for an intruder's", () => {
    const origin = (value: string, usesOwnAuth: boolean) =>
      requestHeaders({ origin: value }, facts, { usesOwnAuth }).origin;
    expect(origin("http://localhost:3000", false)).toBe("http://localhost:3000");
    expect(origin("https://app.example.com", false)).toBeUndefined();
    expect(origin("https://app.example.com", true)).toBe("https://app.example.com");
  });

  it("is written as it goes over the wire", () => {
    expect(requestHead("GET", "/x?y=1", { host: "h", "x-list": ["1", "2"] })).toBe(
      "GET /x?y=1 HTTP/1.1\r\nhost: h\r\nx-list: 1\r\nx-list: 2\r\n\r\n",
    );
  });

  it("prefixes redirects only", () => {
    const answer = (location: string, status: number) =>
      responseHeaders(["location", location], { status, prefix: "/d/x", ownCors: false })[1];
    expect(answer("/docs", 302)).toBe("/d/x/docs");
    expect(answer("//elsewhere", 302)).toBe("//elsewhere");
    expect(answer("/threads/1/runs/2", 200)).toBe("/threads/1/runs/2");
  });

  it("leaves what the connection is about, and answers for other sites unless the project does", () => {
    const given = [
      "connection",
      "keep-alive, x-hop",
      "x-hop",
      "1",
      "access-control-allow-origin",
      "*",
      "set-cookie",
      "a=1",
      "set-cookie",
      "b=2",
    ];
    const answer = { status: 200, prefix: "/d/x" };
    expect(responseHeaders(given, { ...answer, ownCors: false })).toEqual([
      "set-cookie",
      "a=1",
      "set-cookie",
      "b=2",
    ]);
    expect(responseHeaders(given, { ...answer, ownCors: true }).slice(0, 2)).toEqual([
      "access-control-allow-origin",
      "*",
    ]);
  });
});
