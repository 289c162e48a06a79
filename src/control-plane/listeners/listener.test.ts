import { expect, it } from "vitest";
import { absenceText, presenceOf } from "./listener.ts";

const now = new Date("2026-11-17T10:00:00Z");
const at = (seconds: number) => new Date(now.getTime() + seconds * 1000);

it("is alive while its lease lasts, away after it, and was never there before the first", () => {
  expect(presenceOf({ seen_at: null, leased_until: null }, now)).toEqual({ state: "never", since: null });
  expect(presenceOf({ seen_at: at(-5), leased_until: at(55) }, now).state).toBe("alive");
  expect(presenceOf({ seen_at: at(-61), leased_until: at(-1) }, now)).toEqual({
    state: "away",
    since: at(-61),
  });
});

it("says since when nothing was heard of it", () => {
  const listener = { compute_id: "factory", seen_at: at(-61), leased_until: at(-1) };
  expect(absenceText(listener, now)).toContain("factory has not reported since 2026-11-17T09:58:59.000Z");
  expect(absenceText({ ...listener, leased_until: at(1) }, now)).toBeNull();
  // Shown as it is.
  expect(absenceText({ ...listener, seen_at: null }, now)).toBe(
    'The listener factory has never connected. Start it with "treadle listener"; the deployment waits for it.',
  );
});
