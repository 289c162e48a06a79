/**
 * The filter language's checked tree: every field exists, every operator suits its field and every value
 * has the form its field's SQL wants. What a null means is settled here too: a comparison with something
 * absent is false, `neq` and `not` are its exact complement.
 */
export type Filter = Group | Negation | Comparison | Search;

export type Group = { kind: "and" | "or"; parts: Filter[] };
export type Negation = { kind: "not"; part: Filter };
export type Comparison = { kind: "compare"; op: CompareOperator; field: FieldName; value: FilterValue };
/** Every token must occur, in any order and case; without a field anywhere in the run's text. */
export type Search = { kind: "search"; field: FieldName | null; tokens: string[] };

export const compareOperators = [
  "eq",
  "neq",
  "gt",
  "gte",
  "lt",
  "lte",
  "has",
  "in",
  "like",
  "nlike",
  "exists",
] as const;
export type CompareOperator = (typeof compareOperators)[number];

export type Scalar = string | number | boolean | null;
export type FilterValue = Scalar | Scalar[];

/** What a field holds decides which operators and values it takes. */
export type FieldType =
  | "uuid"
  | "text"
  | "word"
  | "time"
  | "duration"
  | "integer"
  | "number"
  | "boolean"
  | "tags"
  | "json"
  | "pair_text"
  | "pair_number";

export type PairFamily = "metadata" | "input" | "output" | "feedback";

export type Field = {
  type: FieldType;
  /** Part of a key/value entry: such fields bind together inside one `and`. */
  pair?: { family: PairFamily; part: string };
};

const pair = (type: FieldType, family: PairFamily, part: string): Field => ({ type, pair: { family, part } });

export const fields = {
  id: { type: "uuid" },
  trace_id: { type: "uuid" },
  session_id: { type: "uuid" },
  parent_run_id: { type: "uuid" },
  reference_example_id: { type: "uuid" },
  name: { type: "text" },
  error: { type: "text" },
  thread_id: { type: "text" },
  run_type: { type: "word" },
  status: { type: "word" },
  trace_tier: { type: "word" },
  start_time: { type: "time" },
  end_time: { type: "time" },
  first_token_time: { type: "time" },
  latency: { type: "duration" },
  total_tokens: { type: "integer" },
  prompt_tokens: { type: "integer" },
  completion_tokens: { type: "integer" },
  execution_order: { type: "integer" },
  total_cost: { type: "number" },
  prompt_cost: { type: "number" },
  completion_cost: { type: "number" },
  is_root: { type: "boolean" },
  tags: { type: "tags" },
  metadata: { type: "json" },
  inputs: { type: "json" },
  outputs: { type: "json" },
  metadata_key: pair("pair_text", "metadata", "key"),
  metadata_value: pair("pair_text", "metadata", "value"),
  input_key: pair("pair_text", "input", "key"),
  input_value: pair("pair_text", "input", "value"),
  output_key: pair("pair_text", "output", "key"),
  output_value: pair("pair_text", "output", "value"),
  feedback_key: pair("pair_text", "feedback", "key"),
  feedback_score: pair("pair_number", "feedback", "score"),
  feedback_value: pair("pair_text", "feedback", "value"),
  feedback_comment: pair("pair_text", "feedback", "comment"),
  feedback_source: pair("pair_text", "feedback", "source"),
} as const satisfies Record<string, Field>;

export type FieldName = keyof typeof fields;
export const fieldNames = Object.keys(fields) as FieldName[];

export function fieldOf(name: FieldName): Field {
  return fields[name];
}

const orderings = ["gt", "gte", "lt", "lte"] as const;
const texts = ["eq", "neq", "in", "like", "nlike"] as const;

export const operatorsOf: Record<FieldType, readonly CompareOperator[]> = {
  uuid: ["eq", "neq", "in"],
  text: texts,
  word: texts,
  time: ["eq", "neq", "in", ...orderings],
  duration: ["eq", "neq", "in", ...orderings],
  integer: ["eq", "neq", "in", ...orderings],
  number: ["eq", "neq", "in", ...orderings],
  boolean: ["eq", "neq"],
  tags: ["has", "eq", "neq", "in", "like", "nlike"],
  json: ["has", "exists", "eq", "neq", "like", "nlike"],
  pair_text: texts,
  pair_number: ["eq", "neq", "in", ...orderings],
};

/** Fields a two-argument `search` looks through. */
export function isSearchable(type: FieldType): boolean {
  return type === "text" || type === "word" || type === "tags" || type === "json" || type === "pair_text";
}
