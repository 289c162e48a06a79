import { type Comparison, type Filter, fieldOf, type Search } from "../../../filter/filter.ts";
import { groupPairs } from "../../../filter/pair-groups.ts";
import { compileEntry } from "./compile-entry.ts";
import { compileField, searchAnywhere, searchField } from "./compile-field.ts";
import { all, any, type Condition, negate, type Values } from "./condition.ts";

/** The filter as a condition on rows of `trace_runs`, read with `final`. What the caller wrote goes into `values`. */
export function compileFilter(filter: Filter, values: Values): Condition {
  switch (filter.kind) {
    case "and":
      return compileAnd(filter.parts, values);
    case "or":
      return any(filter.parts.map((part) => compileFilter(part, values)));
    case "not":
      return negate(compileFilter(filter.part, values));
    case "compare":
    case "search":
      return compileTest(filter, values);
  }
}

function compileAnd(parts: readonly Filter[], values: Values): Condition {
  const { entries, plain } = groupPairs(parts);
  return all([
    ...plain.map((part) => compileFilter(part, values)),
    ...entries.map((entry) => compileEntry(entry, values)),
  ]);
}

function compileTest(test: Comparison | Search, values: Values): Condition {
  if (test.kind === "search" && test.field === null) return searchAnywhere(test.tokens, values);
  if (fieldOf(test.field!).pair) return compileAnd([test], values);
  return test.kind === "search" ? searchField(test.field!, test.tokens, values) : compileField(test, values);
}
