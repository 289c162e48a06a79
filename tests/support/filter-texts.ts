import { fields, operatorsOf } from "../../src/traces/filter/filter.ts";

/** Texts that are filters, or nearly so, for each engine that takes them. */

const pieces = [
  ..."()[],\"'\\ \n\t;%_$1-.+eE0{}é🙂\ud800\u0000#&|!=<>/*",
  ...["and(", "or(", "not(", "eq(", "in(", "like(", "has(", "exists(", "search(", "gt(", "nlike("],
  ...Object.keys(fields),
  ...["null", "true", "false", "None", "5", "-1.5", "1e308", "1e-400", "9".repeat(400), '"5s"', '"x"', "'%'"],
  ...['"2026-01-01T00:00:00Z"', '"0001-01-01"', '"9999-12-31T23:59:59.999999999+14:00"', "['a','b']", "[]"],
  ...[
    '\'{"a":"\\\\u0000"}\'',
    "'{\"a\":1e999999}'",
    "'[]'",
    '"\\ud800"',
    '"--"',
    "/*",
    "$1",
    "::int",
    "toString",
  ],
];

/** The same numbers every time: a failure can be looked at again. */
function random(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 4294967296) * limit);
  };
}

export function randomTexts(seed: number, count: number): string[] {
  const next = random(seed);
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + next(12) }, () => pieces[next(pieces.length)]!).join(""),
  );
}

export function randomComparisons(seed: number, count: number): string[] {
  const next = random(seed);
  const values = pieces.filter((piece) => /^["'[\dnt-]/.test(piece) && piece.length > 1);
  const names = Object.keys(fields) as (keyof typeof fields)[];
  return Array.from({ length: count }, () => {
    const field = names[next(names.length)]!;
    const operators = operatorsOf[fields[field].type];
    const comparison = `${operators[next(operators.length)]}(${field}, ${values[next(values.length)]})`;
    const wrap = ["", "not(", "and(", "or("][next(4)];
    return wrap ? `${wrap}${comparison})` : comparison;
  });
}

export function brokenCopies(seed: number, count: number): string[] {
  const good = `and(eq(run_type, "llm"), or(gt(latency, "5s"), has(tags, 'x')), and(eq(metadata_key, "k"),
    like(metadata_value, "%v%")), not(in(name, ["a", 'b'])), search("two words"), lt(start_time, "2026-01-01"))`;
  const next = random(seed);
  return Array.from({ length: count }, () => {
    const at = next(good.length);
    const piece = pieces[next(pieces.length)]!;
    return good.slice(0, at) + piece + good.slice(at + next(4));
  });
}
