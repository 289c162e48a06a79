import { maxValueChars, pairTerm } from "../runs/term.ts";
import type { Comparison, PairFamily } from "./filter.ts";
import type { EntryTest, PartTest } from "./pair-groups.ts";

/** How an engine writes that one entry passes all of these tests, and puts conditions together. */
export type EntryWriter<Condition> = {
  someEntry(family: PairFamily, tests: readonly PartTest[]): Condition;
  all(conditions: readonly Condition[]): Condition;
  negate(condition: Condition): Condition;
};

/** Where the entries of a family are kept; feedback has a table of its own. */
export const entrySources = { metadata: "metadata", input: "inputs", output: "outputs" } as const;

/**
 * Tests on one key/value entry. A key that must be there binds the rest to its entry. A key that must not
 * be there frees the rest: what must hold may hold in any entry, what must not may hold in none.
 */
export function writeEntry<Condition>(
  { family, key, rest }: EntryTest,
  writer: EntryWriter<Condition>,
): Condition {
  const { someEntry, all, negate } = writer;
  if (key === null) return writeLoneTest(family, rest[0]!, writer);
  if (!key.negated) return someEntry(family, [key, ...rest]);
  const wanted = rest.filter((test) => !test.negated);
  const unwanted = [key, ...rest.filter((test) => test.negated)];
  return all([
    ...unwanted.map((test) => negate(someEntry(family, [{ ...test, negated: false }]))),
    ...(wanted.length === 0 ? [] : [someEntry(family, wanted)]),
  ]);
}

function writeLoneTest<Condition>(
  family: PairFamily,
  test: PartTest,
  { someEntry, negate }: EntryWriter<Condition>,
): Condition {
  // A null test asks whether any entry has something there at all.
  const isNullTest = test.test.kind === "compare" && test.test.value === null;
  if (isNullTest) {
    const present = someEntry(family, [{ ...test, negated: true }]);
    return test.negated ? present : negate(present);
  }
  const found = someEntry(family, [{ ...test, negated: false }]);
  return test.negated ? negate(found) : found;
}

/** Of a part of a payload's entry. Reading a filter refuses null for it: what has no value is no entry. */
export function wantedTexts({ value }: Comparison): string[] {
  return (Array.isArray(value) ? value : [value]) as string[];
}

/** Entries hold the beginning of their values only, so equality is asked of the beginning. */
export function cutValue(test: Comparison): Comparison {
  if (test.op !== "eq" && test.op !== "in") return test;
  const cut = wantedTexts(test).map((text) => Array.from(text).slice(0, maxValueChars).join(""));
  return { ...test, op: "in", value: cut };
}

/** What a part must be equal to one of; undefined when no test says so. */
export function equalTexts(tests: readonly PartTest[], part: string): string[] | undefined {
  for (const { part: tested, test, negated } of tests) {
    if (tested !== part || negated || test.kind === "search") continue;
    if (test.op === "eq" || test.op === "in") return wantedTexts(test);
  }
  return undefined;
}

/** One of these is a term of every run that has such an entry; undefined when the tests leave its key or its value open. */
export function termsOfEntry(
  family: Exclude<PairFamily, "feedback">,
  tests: readonly PartTest[],
): number[] | undefined {
  const keys = equalTexts(tests, "key");
  const texts = equalTexts(tests, "value");
  if (!keys || !texts) return undefined;
  // As terms are made: by halves of letters.
  return keys.flatMap((key) =>
    texts.map((text) => pairTerm(entrySources[family], key, text.slice(0, maxValueChars))),
  );
}
