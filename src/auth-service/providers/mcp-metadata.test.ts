import { expect, it } from "vitest";
import {
  chooseAuthMethod,
  coversResource,
  readResourceMetadata,
  resourceMetadataHint,
  wellKnownUrls,
} from "./mcp-metadata.ts";

it("looks for metadata beside the path first, then for the host", () => {
  const root = "https://mcp.example/.well-known/oauth-protected-resource";
  expect(wellKnownUrls("https://mcp.example/a/b/")).toEqual([`${root}/a/b`, root]);
  expect(wellKnownUrls("https://mcp.example")).toEqual([root]);
});

it("follows a hint of the same origin only", () => {
  const hint = (url: string) =>
    resourceMetadataHint(`Bearer realm="x", resource_metadata="${url}"`, "https://a.example/mcp");
  expect(hint("https://a.example/meta")).toBe("https://a.example/meta");
  expect(hint("https://b.example/meta")).toBeNull();
  expect(hint("http://169.254.169.254/")).toBeNull();
  expect(resourceMetadataHint(null, "https://a.example")).toBeNull();
});

it("accepts a resource that is the server or above it", () => {
  const covers = (resource: string) => coversResource(resource, "https://a.example/mcp/v1");
  expect(["https://a.example", "https://a.example/mcp", "https://a.example/mcp/v1/"].every(covers)).toBe(
    true,
  );
  expect(
    ["https://b.example/mcp/v1", "https://a.example/mc", "https://a.example/mcp/v1/x"].some(covers),
  ).toBe(false);
});

it("reads metadata, or nothing", () => {
  expect(readResourceMetadata('{"resource":"https://a.example"}')).toEqual({
    resource: "https://a.example",
    authorization_servers: [],
  });
  for (const text of [
    "",
    "[]",
    '{"resource":7}',
    '{"resource":"x"}',
    '{"resource":"https://a","authorization_servers":"x"}',
  ]) {
    expect(readResourceMetadata(text)).toBeNull();
  }
});

it("prefers to be a public client", () => {
  expect(chooseAuthMethod(undefined)).toBe("none");
  expect(chooseAuthMethod(["client_secret_post", "none"])).toBe("none");
  expect(chooseAuthMethod(["client_secret_post"])).toBe("client_secret_post");
  expect(chooseAuthMethod(["private_key_jwt"])).toBe("client_secret_basic");
});
