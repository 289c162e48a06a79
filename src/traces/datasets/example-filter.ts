import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { invalidField } from "../../platform/errors.ts";
import type { Comparison, Filter, Search } from "../filter/filter.ts";
import { parseFilter } from "../filter/parse-filter.ts";
import {
  all,
  any,
  type Condition,
  jsonHoldsToken,
  negate,
  testOrdered,
  testText,
} from "../filter/sql-text.ts";

const loc = ["query", "filter"];
const texts: Record<string, Condition> = {
  metadata: raw`metadata::text`,
  inputs: raw`inputs`,
  outputs: raw`outputs`,
};
const documents: Record<string, Condition> = {
  metadata: raw`metadata`,
  inputs: raw`jsonb_or_null(inputs)`,
  outputs: raw`jsonb_or_null(outputs)`,
};

/** A filter on examples: the language of runs, on what examples have. Throws the caller's 422. */
export function compileExampleFilter(text: string): RawBuilder<unknown> {
  return raw`(${compile(parseFilter(text, loc))})`;
}

function compile(filter: Filter): Condition {
  switch (filter.kind) {
    case "and":
      return all(filter.parts.map(compile));
    case "or":
      return any(filter.parts.map(compile));
    case "not":
      return negate(compile(filter.part));
    case "compare":
      return compileComparison(filter);
    case "search":
      return compileSearch(filter);
  }
}

function compileComparison(test: Comparison): Condition {
  const { op, field, value } = test;
  if (field === "id") return testOrdered(raw`id`, test, raw`uuid`);
  const document = documents[field];
  const text = texts[field];
  if (!document || !text) throw notOfExamples(field);
  if (value === null) {
    const absent = raw`coalesce(${document} in ('{}'::jsonb, 'null'::jsonb), true)`;
    return op === "neq" ? negate(absent) : absent;
  }
  if (op === "exists")
    return raw`(${document} ? ${value} or ${document} #> string_to_array(${value}, '.') is not null)`;
  if (op === "has") return raw`${document} @> jsonb_or_null(${value})`;
  return testText(text, test);
}

function compileSearch({ field, tokens }: Search): Condition {
  const looked = field === null ? ["inputs", "outputs", "metadata"] : [field];
  const columns = looked.map((name) => texts[name] ?? missing(name));
  return all(tokens.map((token) => any(columns.map((column) => jsonHoldsToken(column, token)))));
}

function missing(field: string): never {
  throw notOfExamples(field);
}

function notOfExamples(field: string) {
  return invalidField(
    loc,
    `Examples have no field ${field} to filter by; there are id, metadata, inputs and outputs. Dataset, splits and ids have their own parameters.`,
  );
}
