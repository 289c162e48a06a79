import { expect, it } from "vitest";
import { rowWindow } from "./row-window.ts";

const at = (first: number, count = 1_000) => rowWindow({ first, room: 410, count, height: 41 });

it("has what is seen and a little more, at every place", () => {
  expect(at(0)).toEqual({ start: 0, end: 15, slots: 19 });
  expect(at(100)).toEqual({ start: 96, end: 115, slots: 19 });
  expect(at(990)).toEqual({ start: 986, end: 1_000, slots: 19 });
  for (let first = 0; first <= 1_000; first += 1) {
    const { start, end, slots } = at(first);
    expect(end - start).toBeLessThanOrEqual(slots);
  }
});

it("has nothing of an empty list, and no row that is not there", () => {
  expect(at(0, 0)).toMatchObject({ start: 0, end: 0 });
  // A filter has left three, and the box is not yet scrolled back.
  expect(at(500, 3)).toMatchObject({ start: 3, end: 3 });
});
