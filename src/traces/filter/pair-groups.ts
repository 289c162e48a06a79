import { type Comparison, type Filter, fieldOf, type PairFamily, type Search } from "./filter.ts";

/** A test of one part of an entry, always in its positive form. */
export type PartTest = { part: string; test: Comparison | Search; negated: boolean };

/** Tests that speak of one key/value entry. Without a key there is exactly one other test. */
export type EntryTest = { family: PairFamily; key: PartTest | null; rest: PartTest[] };

export type PairGroups = { entries: EntryTest[]; plain: Filter[] };

/**
 * Inside one `and` the tests of a family's value bind to the nearest key before them, and those before the
 * first key to that first key. Values of a family that names no key at all stand each for themselves.
 */
export function groupPairs(parts: readonly Filter[]): PairGroups {
  const plain: Filter[] = [];
  const families = new Map<PairFamily, PartTest[]>();
  for (const part of parts) {
    const test = partTest(part);
    if (test === null) plain.push(part);
    else families.set(test.family, [...(families.get(test.family) ?? []), test.test]);
  }
  const entries = [...families].flatMap(([family, tests]) => entriesOf(family, tests));
  return { entries, plain };
}

function entriesOf(family: PairFamily, tests: PartTest[]): EntryTest[] {
  const firstKey = tests.findIndex((test) => test.part === "key");
  if (firstKey === -1) return tests.map((test) => ({ family, key: null, rest: [test] }));
  const entries: EntryTest[] = [];
  let current: EntryTest = { family, key: tests[firstKey]!, rest: tests.slice(0, firstKey) };
  for (const test of tests.slice(firstKey + 1)) {
    if (test.part !== "key") current.rest.push(test);
    else {
      entries.push(current);
      current = { family, key: test, rest: [] };
    }
  }
  return [...entries, current];
}

/** `not(like(...))` means the same as `nlike(...)`, so it binds as that would. */
function partTest(filter: Filter): { family: PairFamily; test: PartTest } | null {
  let part = filter;
  let negated = false;
  while (part.kind === "not") {
    negated = !negated;
    part = part.part;
  }
  if (part.kind !== "compare" && part.kind !== "search") return null;
  if (part.field === null) return null;
  const { pair } = fieldOf(part.field);
  if (!pair) return null;
  const { test, flipped } = positive(part);
  return { family: pair.family, test: { part: pair.part, test, negated: negated !== flipped } };
}

function positive(test: Comparison | Search): { test: Comparison | Search; flipped: boolean } {
  if (test.kind === "search") return { test, flipped: false };
  if (test.op === "neq") return { test: { ...test, op: "eq" }, flipped: true };
  if (test.op === "nlike") return { test: { ...test, op: "like" }, flipped: true };
  return { test, flipped: false };
}
