import { describe, expect, it } from "vitest";
import { coversScopes, isExpired, isStale, lifetimeOf, retryDelayMs } from "./token.ts";

const now = new Date("2026-01-01T00:00:00Z");
const seconds = (date: Date | null) => (date === null ? null : (date.getTime() - now.getTime()) / 1000);
const lifetime = (life: number | null, canRefresh = true) => {
  const { expiresAt, staleAt, refreshAt } = lifetimeOf(life, canRefresh, now);
  return [seconds(staleAt), seconds(refreshAt), seconds(expiresAt)];
};

describe("lifetimeOf", () => {
  it("has a reader refresh a minute before the end, the job five minutes", () => {
    expect(lifetime(3600)).toEqual([3540, 3300, 3600]);
  });
  it("shrinks the margins of a short life", () => {
    expect(lifetime(100)).toEqual([80, 80, 100]);
    expect(lifetime(600)).toEqual([540, 480, 600]);
  });
  it("renews nothing that cannot be, or has no end", () => {
    expect(lifetime(3600, false)).toEqual([3540, null, 3600]);
    expect(lifetime(null)).toEqual([null, null, null]);
  });
});

it("tells stale and expired tokens", () => {
  const at = (ms: number) => new Date(now.getTime() + ms);
  expect(isStale({ stale_at: now }, now)).toBe(true);
  expect(isStale({ stale_at: at(1) }, now)).toBe(false);
  expect(isStale({ stale_at: null }, now)).toBe(false);
  expect(isExpired({ expires_at: at(1) }, now)).toBe(false);
  expect(isExpired({ expires_at: now }, now)).toBe(true);
});

it("covers what it holds, and nothing more", () => {
  expect(coversScopes(["a", "b"], [])).toBe(true);
  expect(coversScopes(["a", "b"], ["b"])).toBe(true);
  expect(coversScopes(["a"], ["a", "b"])).toBe(false);
});

it("waits longer after each failure, an hour at most", () => {
  expect([0, 1, 2, 50].map(retryDelayMs)).toEqual([30_000, 60_000, 120_000, 3_600_000]);
});
