import { cutValue, entrySources, termsOfEntry, writeEntry } from "../../../filter/entry-rules.ts";
import type { Comparison, PairFamily } from "../../../filter/filter.ts";
import type { EntryTest, PartTest } from "../../../filter/pair-groups.ts";
import { all, type Condition, negate, type Scope, testOrdered, testText, type Values } from "./condition.ts";
import { pairsOfJson } from "./json-condition.ts";

export function compileEntry(entry: EntryTest, scope: Scope): Condition {
  return writeEntry(entry, {
    ...{ all, negate, someEntry: (family, tests) => someEntry(family, tests, scope) },
  });
}

function someEntry(family: PairFamily, tests: readonly PartTest[], scope: Scope): Condition {
  const condition = all(
    tests.map((test) => {
      const tested = testPart(family, test, scope.values);
      return test.negated ? negate(tested) : tested;
    }),
  );
  if (family === "feedback")
    return `(id in (select run_id from trace_feedback final where workspace_id = ${scope.workspace} and not is_removed and ${condition}))`;
  const found = `arrayExists(pair -> ifNull(${condition}, false), ${pairsOf(entrySources[family], scope)})`;
  return all([...narrowing(family, tests, scope.values), found]);
}

/** Written out once per condition: a filter may have two hundred tests on it. */
function pairsOf(column: string, { named }: Scope): Condition {
  const name = `pairs_of_${column}`;
  if (named.has(name)) return name;
  named.add(name);
  return `(${pairsOfJson(`ifNull(${column}, '')`)} as ${name})`;
}

const feedbackParts: Record<string, Condition> = {
  ...{ key: "key", score: "score", value: "value_text", comment: "comment", source: "source" },
};

function testPart(family: PairFamily, { part, test }: PartTest, values: Values): Condition {
  if (family === "feedback") {
    const column = feedbackParts[part]!;
    return part === "score"
      ? testOrdered(column, test as Comparison, { values, type: "Float64" })
      : testText(column, test, values);
  }
  if (part === "key") return testText("pair.1", test, values);
  return testText("pair.2", test.kind === "compare" ? cutValue(test) : test, values);
}

/** Holds for every run that the exact condition holds for, and has an index. */
function narrowing(
  family: Exclude<PairFamily, "feedback">,
  tests: readonly PartTest[],
  values: Values,
): Condition[] {
  const terms = termsOfEntry(family, tests);
  return terms ? [`hasAny(terms, ${values.bind(terms, "Array(Int32)")})`] : [];
}
