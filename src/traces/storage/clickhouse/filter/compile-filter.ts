import { type Comparison, type Filter, fieldOf, type Search } from "../../../filter/filter.ts";
import { groupPairs } from "../../../filter/pair-groups.ts";
import { compileEntry } from "./compile-entry.ts";
import { compileField, searchAnywhere, searchField } from "./compile-field.ts";
import { all, any, type Condition, negate, type Scope, type Values } from "./condition.ts";

/**
 * The filter as a condition on rows of `trace_runs` of the workspace, read with `final`. What the caller wrote goes into
 * `values`.
 */
export function compileFilter(filter: Filter, workspaceId: string, values: Values): Condition {
  return compile(filter, { values, workspace: values.bind(workspaceId, "UUID"), named: new Set() });
}

function compile(filter: Filter, scope: Scope): Condition {
  switch (filter.kind) {
    case "and":
      return compileAnd(filter.parts, scope);
    case "or":
      return any(filter.parts.map((part) => compile(part, scope)));
    case "not":
      return negate(compile(filter.part, scope));
    case "compare":
    case "search":
      return compileTest(filter, scope);
  }
}

function compileAnd(parts: readonly Filter[], scope: Scope): Condition {
  const { entries, plain } = groupPairs(parts);
  return all([
    ...plain.map((part) => compile(part, scope)),
    ...entries.map((entry) => compileEntry(entry, scope)),
  ]);
}

function compileTest(test: Comparison | Search, scope: Scope): Condition {
  const { values } = scope;
  if (test.kind === "search" && test.field === null) return searchAnywhere(test.tokens, values);
  if (fieldOf(test.field!).pair) return compileAnd([test], scope);
  return test.kind === "search" ? searchField(test.field!, test.tokens, values) : compileField(test, values);
}
