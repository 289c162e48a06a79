import { type RawBuilder, raw } from "../../../../platform/db/raw.ts";
import { type Comparison, type Filter, fieldOf, type Search } from "../../../filter/filter.ts";
import { groupPairs } from "../../../filter/pair-groups.ts";
import { parseFilter } from "../../../filter/parse-filter.ts";
import { all, any, type Condition, negate } from "../../../filter/sql-text.ts";
import { compileEntry } from "./compile-entry.ts";
import { compileField, searchAnywhere, searchField } from "./compile-field.ts";

export type CompileOptions = {
  /** The name `trace_runs` has in the statement. */
  alias: string;
};

/**
 * The filter as a condition on rows of `trace_runs`. Everything the caller wrote is a parameter; names of
 * columns and operators come from here alone.
 */
export function compileFilter(filter: Filter, { alias }: CompileOptions): RawBuilder<boolean> {
  return raw<boolean>`(${compile(filter, alias)})`;
}

/** Reads and compiles in one step. Throws the caller's 422 for a filter that is not one. */
export function compileRunFilter(
  text: string,
  options: CompileOptions = { alias: "r" },
): RawBuilder<boolean> {
  return compileFilter(parseFilter(text), options);
}

function compile(filter: Filter, alias: string): Condition {
  switch (filter.kind) {
    case "and":
      return compileAnd(filter.parts, alias);
    case "or":
      return any(filter.parts.map((part) => compile(part, alias)));
    case "not":
      return negate(compile(filter.part, alias));
    case "compare":
    case "search":
      return compileTest(filter, alias);
  }
}

function compileAnd(parts: readonly Filter[], alias: string): Condition {
  const { entries, plain } = groupPairs(parts);
  return all([
    ...plain.map((part) => compile(part, alias)),
    ...entries.map((entry) => compileEntry(entry, alias)),
  ]);
}

function compileTest(test: Comparison | Search, alias: string): Condition {
  if (test.kind === "search" && test.field === null) return searchAnywhere(test.tokens, alias);
  if (fieldOf(test.field!).pair) return compileAnd([test], alias);
  return test.kind === "search" ? searchField(test.field!, test.tokens, alias) : compileField(test, alias);
}
