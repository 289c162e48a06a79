import { transform } from "esbuild";
import { expect, it } from "vitest";
import { naturalNames } from "../scripts/natural-names.ts";

/** Every form in which a function comes by its name; what it is called is told by `names`. */
const sample = `
function declared() { function inner() {} return inner; }
const arrow = (x) => x + 1;
const longArrow = async (x) => {
  const deep = () => { return \`
}, "deep")\`; };
  return deep;
};
const listed = () => ({
  first: 1,
});
let assigned; assigned = function () { return 2; };
const named = function own() {};
const same = function same() {};
const tail = ((make) => make(() => 4))((given) => given), two = () => 1, used = [2, "two"];
class Plain { field = () => this; static made = () => 1; #hidden = () => 2; hidden() { return this.#hidden; } }
const Expressed = class Self { clone() { return new Self(); } };
const object = { start: () => ({
    a: 1,
  }), stop: () => {
    return ", \\"stop\\")";
  }, both: [(a) => a, (b) => b], method() {} };
const chosen = Math.random() > 2 ? () => 1 : () => 3;
const given = [1].map((value) => value);
export const names = async () => [
  declared, declared(), arrow, longArrow, await longArrow(), listed, assigned, named, same, tail, two, Plain, new Plain().field,
  Plain.made, new Plain().hidden(), Expressed, object.start, object.stop, ...object.both, object.method, chosen, names,
].map(({ name }) => name);
export const values = async () => [arrow(1), (await longArrow())(), listed(), object.start(), object.stop(), given];
`;

type Sample = { names(): Promise<string[]>; values(): Promise<unknown[]> };
const load = async (code: string) =>
  (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as Sample;

it("leaves every name and every value as they are, with fewer calls", async () => {
  const { code } = await transform(sample, { keepNames: true, format: "esm", target: "node22" });
  const light = naturalNames(code);
  const [before, after] = await Promise.all([load(code), load(light)]);
  expect(await after.names()).toEqual(await before.names());
  expect(await after.values()).toEqual(await before.values());
  const callsIn = (text: string) => text.split("__name(").length - 1;
  expect(callsIn(code) - callsIn(light)).toBeGreaterThanOrEqual(9);
  expect(light.split("\n")).toHaveLength(code.split("\n").length);
});

it("keeps the names that code has lost on the way", () => {
  const code = [
    '__name(renamed2, "renamed");',
    'const arrow2 = /* @__PURE__ */ __name(() => 1, "arrow");',
    '  static { __name(this, "Kept"); }',
    'call(/* @__PURE__ */ __name(() => 1, "given"));',
    'const f = /* @__PURE__ */ __name(function f2() {}, "f");',
    'const g = /* @__PURE__ */ __name((a) => call(a, "g"), "g");',
    "const h = /* @__PURE__ */ __name(() => {",
    '}, "h").build();',
  ].join("\n");
  expect(naturalNames(code)).toBe(code);
});
