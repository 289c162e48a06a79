import { describe, expect, it } from "vitest";
import { layoutLayers, nearest } from "./layers.ts";

const box = (id: string, width = 80) => ({ id, width, height: 40 });
const link = (text: string) => ({ source: text.split(">")[0]!, target: text.split(">")[1]! });
const lay = (names: string, ...links: string[]) =>
  layoutLayers(
    [...names].map((name) => box(name)),
    links.map(link),
  );

describe("layers", () => {
  it("follow the links downwards", () => {
    const { places } = lay("abcd", "a>b", "b>c", "a>c", "c>d");
    const depth = [..."abcd"].map((id) => places.get(id)!.y);
    expect(depth).toEqual([0, 72, 144, 216]);
  });

  it("leave room: no two boxes of a layer touch", () => {
    const { places, width } = lay("abcde", "a>b", "a>c", "a>d", "a>e");
    const across = [..."bcde"].map((id) => places.get(id)!.x).sort((a, b) => a - b);
    for (let at = 1; at < across.length; at++)
      expect(across[at]! - across[at - 1]!).toBeGreaterThanOrEqual(108);
    expect(width).toBeGreaterThanOrEqual(4 * 108 - 28);
    // What branches stands in the middle above.
    expect(places.get("a")!.x).toBeCloseTo((across[0]! + across[3]!) / 2);
  });

  it("let a circle lead back up, from its lower to its upper box", () => {
    const { places, routes } = lay("ab", "a>b", "b>a");
    expect(places.get("b")!.y).toBeGreaterThan(places.get("a")!.y);
    const [there, back] = routes as [{ x: number; y: number }[], { x: number; y: number }[]];
    expect(back[0]!.y).toBe(places.get("b")!.y);
    expect(back.at(-1)!.y).toBe(places.get("a")!.y + 40);
    // Side by side, not over one another.
    expect(there[0]!.x).not.toBe(back.at(-1)!.x);
  });

  it("let a long link pass beside the boxes between its ends", () => {
    const { places, routes } = lay("abc", "a>b", "b>c", "a>c");
    const long = routes[2]!;
    expect(long).toHaveLength(3);
    expect(Math.abs(long[1]!.x - places.get("b")!.x)).toBeGreaterThan(40);
  });

  it("have no line for what leads to itself, and nothing for nothing", () => {
    expect(lay("a", "a>a").routes).toEqual([[]]);
    expect(layoutLayers([], [])).toEqual({ width: 0, height: 0, places: new Map(), routes: [] });
  });

  it("uncross lines where the order allows it", () => {
    const { places } = lay("axybc", "a>x", "a>y", "x>c", "y>b");
    const side = (left: string, right: string) => places.get(left)!.x < places.get(right)!.x;
    expect(side("x", "y")).toBe(side("c", "b"));
  });
});

it("places go as near as they can to where they want to be", () => {
  expect(nearest([0, 0, 0], [0, 10, 10])).toEqual([-10, 0, 10]);
  expect(nearest([0, 50], [0, 10])).toEqual([0, 50]);
});
