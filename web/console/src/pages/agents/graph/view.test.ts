import { expect, it } from "vitest";
import { fitView, revealed, zoomAt } from "./view.ts";

it("a large drawing is shown whole, in the middle", () => {
  expect(fitView({ width: 1_000, height: 100 }, { width: 532, height: 332 })).toEqual({
    x: 16,
    y: 141,
    scale: 0.5,
  });
});

it("one that would be too small to read begins at its upper edge", () => {
  const view = fitView({ width: 400, height: 9_000 }, { width: 500, height: 300 }, { legible: true });
  expect(view).toEqual({ x: 90, y: 16, scale: 0.8 });
});

it("a small one is not blown up", () => {
  expect(fitView({ width: 10, height: 10 }, { width: 500, height: 500 }).scale).toBe(1.1);
});

it("zooming keeps what is under the pointer, and has limits", () => {
  const before = { x: 10, y: 20, scale: 1 };
  const after = zoomAt(before, 2, { x: 110, y: 120 });
  const under = (view: typeof before) => [(110 - view.x) / view.scale, (120 - view.y) / view.scale];
  expect(under(after)).toEqual(under(before));
  expect(zoomAt(before, 100, { x: 0, y: 0 }).scale).toBe(3);
  expect(zoomAt(before, 0.0001, { x: 0, y: 0 }).scale).toBe(0.1);
});

it("a part out of sight is moved into it, and no further", () => {
  const frame = { width: 400, height: 300 };
  const view = { x: 0, y: 0, scale: 0.5 };
  expect(revealed(view, { x: 100, y: 100, width: 100, height: 40 }, frame)).toEqual(view);
  const below = revealed(view, { x: 100, y: 1_000, width: 100, height: 40 }, frame);
  expect(below).toEqual({ x: 0, y: 300 - 16 - 520, scale: 0.5 });
  expect(revealed(below, { x: 100, y: 0, width: 100, height: 40 }, frame).y).toBe(16);
});
