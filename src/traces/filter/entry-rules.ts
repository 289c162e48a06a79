import type { PairFamily } from "./filter.ts";
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
