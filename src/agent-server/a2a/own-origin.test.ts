import { expect, it } from "vitest";
import { ownOriginOf } from "./own-origin.ts";

it("is what the gateway was asked by, and none under a path of the platform's", () => {
  const forwarded = { "x-forwarded-host": "agent.example.com", "x-forwarded-proto": "https" };
  expect(ownOriginOf(new Headers(forwarded))).toBe("https://agent.example.com");
  const plain = { "x-forwarded-host": "x.localhost:8124", "x-forwarded-proto": "http" };
  expect(ownOriginOf(new Headers(plain))).toBe("http://x.localhost:8124");
  expect(ownOriginOf(new Headers({ ...forwarded, "x-forwarded-prefix": "/d/x" }))).toBeNull();
  expect(ownOriginOf(new Headers({ host: "127.0.0.1" }))).toBeNull();
});
