import { raw } from "../../../../platform/db/raw.ts";
import {
  cutValue,
  entrySources,
  equalTexts,
  termsOfEntry,
  wantedTexts,
  writeEntry,
} from "../../../filter/entry-rules.ts";
import type { Comparison, PairFamily } from "../../../filter/filter.ts";
import type { EntryTest, PartTest } from "../../../filter/pair-groups.ts";
import { all, any, type Condition, negate, never, testOrdered, testText } from "../../../filter/sql-text.ts";
import { columnOf } from "./compile-field.ts";

export function compileEntry(entry: EntryTest, alias: string): Condition {
  return writeEntry(entry, {
    ...{ all, negate, someEntry: (family, tests) => someEntry(family, tests, alias) },
  });
}

function someEntry(family: PairFamily, tests: readonly PartTest[], alias: string): Condition {
  const conditions = tests.map((test) => {
    const condition = testPart(family, test);
    return test.negated ? negate(condition) : condition;
  });
  if (family === "feedback") {
    return raw`exists (select 1 from trace_feedback feedback
      where feedback.run_id = ${columnOf("id", alias)}
        and feedback.workspace_id = ${columnOf("workspace_id", alias)} and ${all(conditions)})`;
  }
  const exact = raw`exists (select 1 from trace_pairs(${payloadOf(family, alias)}) as pair
    where ${all(conditions)})`;
  return all([...narrowing(family, tests, alias), exact]);
}

function payloadOf(family: Exclude<PairFamily, "feedback">, alias: string): Condition {
  const column = columnOf(entrySources[family], alias);
  return family === "metadata" ? raw`${column}::text` : column;
}

const feedbackParts: Record<string, Condition> = {
  key: raw`feedback.key`,
  score: raw`feedback.score`,
  value: raw`coalesce(jsonb_or_null(feedback.value) #>> '{}', feedback.value)`,
  comment: raw`feedback.comment`,
  source: raw`feedback.feedback_source ->> 'type'`,
};

function testPart(family: PairFamily, { part, test }: PartTest): Condition {
  if (family === "feedback") {
    const expression = feedbackParts[part]!;
    return part === "score"
      ? testOrdered(expression, test as Comparison, raw`float8`)
      : testText(expression, test);
  }
  if (part === "key") return testText(raw`pair.k`, test);
  return testText(raw`pair.v`, test.kind === "compare" ? cutValue(test) : test);
}

/** Conditions that hold for every row the exact one holds for, and that an index or a cheap test can answer. */
function narrowing(
  family: Exclude<PairFamily, "feedback">,
  tests: readonly PartTest[],
  alias: string,
): Condition[] {
  const terms = termsOfEntry(family, tests);
  if (terms) return [raw`${columnOf("terms", alias)} && ${terms}::int[]`];
  const keys = equalTexts(tests, "key");
  if (family === "metadata")
    return keys ? [raw`${columnOf("metadata", alias)} ?| ${keys.flatMap(topLevelKeys)}::text[]`] : [];
  const column = columnOf(entrySources[family], alias);
  return tests.flatMap((test) => (test.negated ? [] : mayHold(column, test)));
}

/** A dotted path begins with a key of the object, and that may hold dots itself. */
function topLevelKeys(key: string): string[] {
  const segments = key.split(".");
  return ["", ...segments.map((_, index) => segments.slice(0, index + 1).join("."))];
}

/**
 * The payload's text must hold the plain letters looked for, unless it spells characters as \u escapes.
 * Worth asking first: unfolding a payload costs a hundred times as much.
 */
function mayHold(column: Condition, { part, test }: PartTest): Condition[] {
  if (test.kind === "search") return [];
  const literals = test.op === "like" ? [longestLiteral(String(test.value))] : wantedTexts(test);
  const fragments = part === "key" ? literals.map((key) => key.slice(key.lastIndexOf(".") + 1)) : literals;
  if (fragments.length === 0) return [never];
  if (!fragments.every(isPlain)) return [];
  const held = fragments.map((fragment) => raw`strpos(${column}, ${fragment}) > 0`);
  return [any([...held, raw`strpos(${column}, '\\u') > 0`])];
}

/** Letters JSON never needs to escape; digits alone may be written in other ways (100 as 1e2). */
function isPlain(fragment: string): boolean {
  return /^[A-Za-z0-9 _:@-]{2,250}$/.test(fragment) && /[A-DF-Za-df-z _:@]/.test(fragment);
}

function longestLiteral(pattern: string): string {
  const literals = pattern.split(/[%_]|\\./s);
  return literals.reduce((longest, literal) => (literal.length > longest.length ? literal : longest), "");
}
