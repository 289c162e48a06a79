import { expect, test } from "vitest";
import { sameText } from "../../platform/encryption/same-text.ts";
import { looksLikeJwt } from "../../platform/http/access/jwt-shape.ts";
import { sessionExpiry, sessionLifetimeMs } from "../tokens/session.ts";
import { hashApiKey, isExpired, newApiKey, shownPrefix } from "./api-key.ts";
import { weakerRole } from "./role.ts";
import { includesBulkExport } from "./workspace.ts";

test("only the free plan of the cloud edition has no bulk exports", () => {
  expect(includesBulkExport("cloud", "free")).toBe(false);
  expect(includesBulkExport("cloud", "plus")).toBe(true);
  expect(includesBulkExport("cloud", "enterprise")).toBe(true);
  for (const plan of ["free", "plus", "enterprise"] as const)
    expect(includesBulkExport("self-hosted", plan)).toBe(true);
});

test("of two roles the weaker counts, in either order", () => {
  expect(weakerRole("admin", "viewer")).toBe("viewer");
  expect(weakerRole("viewer", "admin")).toBe("viewer");
  expect(weakerRole("editor", "editor")).toBe("editor");
});

test("keys are long, all different, and shown only in small part", () => {
  const keys = Array.from({ length: 100 }, newApiKey);
  expect(new Set(keys).size).toBe(100);
  for (const key of keys) {
    expect(key.length).toBeGreaterThanOrEqual(40);
    expect(shownPrefix(key).length).toBeLessThan(15);
    expect(looksLikeJwt(key)).toBe(false);
  }
  expect(shownPrefix("sixteen-letters!")).toBe("six…");
});

test("a hash depends on key and pepper", () => {
  const hash = hashApiKey("pepper", "key");
  expect(sameText(hash, hashApiKey("pepper", "key"))).toBe(true);
  expect(sameText(hash, hashApiKey("pepper", "kez"))).toBe(false);
  expect(sameText(hash, hashApiKey("salt", "key"))).toBe(false);
  expect(sameText(hash, "")).toBe(false);
});

test("a key is expired from its time on", () => {
  const at = new Date("2030-01-01T00:00:00Z");
  expect(isExpired(null, at)).toBe(false);
  expect(isExpired(at, new Date(at.getTime() - 1))).toBe(false);
  expect(isExpired(at, at)).toBe(true);
});

test("a session lasts an hour, or as long as its key", () => {
  const now = new Date("2030-01-01T00:00:00Z");
  const soon = new Date("2030-01-01T00:10:00Z");
  expect(sessionExpiry(now, null).getTime() - now.getTime()).toBe(sessionLifetimeMs);
  expect(sessionExpiry(now, soon)).toEqual(soon);
  expect(sessionExpiry(now, new Date("2031-01-01T00:00:00Z")).getTime() - now.getTime()).toBe(
    sessionLifetimeMs,
  );
});
