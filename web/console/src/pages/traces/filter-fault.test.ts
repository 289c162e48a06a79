import { expect, it } from "vitest";
import { faultWords } from "./filter-fault.ts";

it("a fault names what was meant", () => {
  const problem = 'There is no field "nmae".';
  const said = (found: string, choices: string[]) =>
    faultWords({ problem, expected: `one of ${choices.join(", ")}`, found, choices });
  expect(said("nmae", ["id", "name"])).toBe(`${problem} Did you mean name?`);
  expect(said("zzzz", ["id", "name"])).toBe(`${problem} Expected one of id, name.`);
  expect(said("zzzz", "abcdefghijklmnop".split(""))).toBe(`${problem} What there is shows up as you type.`);
  const unlisted = { found: null, choices: null };
  expect(faultWords({ problem: "Unexpected ).", expected: '","', ...unlisted })).toBe(
    'Unexpected ). Expected ",".',
  );
  expect(faultWords({ problem: "in takes a list.", expected: null, ...unlisted })).toBe("in takes a list.");
});
