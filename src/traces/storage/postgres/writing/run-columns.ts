/**
 * The columns of `trace_runs` that are written, once. New runs are copied in; changes come as one array parameter
 * a column, for which it matters how a value is written inside an array.
 */

/** Values that need no quotes, with their types. */
export const simpleColumns = [
  ["id", "uuid"],
  ["workspace_id", "uuid"],
  ["project_id", "uuid"],
  ["trace_id", "uuid"],
  ["parent_run_id", "uuid"],
  ["reference_example_id", "uuid"],
  ["is_root", "boolean"],
  ["start_time", "timestamptz"],
  ["end_time", "timestamptz"],
  ["first_token_time", "timestamptz"],
  ["execution_order", "integer"],
  ["posted", "boolean"],
  ["patched", "boolean"],
] as const;

export const textColumns = ["name", "run_type", "status", "dotted_order", "trace_tier", "thread_id"] as const;

/** Arrays of their own, which stand as text inside an array. */
export const arrayColumns = [
  ["parent_run_ids", "uuid[]"],
  ["tags", "text[]"],
  ["terms", "integer[]"],
] as const;

/** What the run spent itself, and what the runs right below it passed on: arrays, too. */
export const spentColumns = ["usage", "below"] as const;

/** The two together, as readers see them. In the order of `UsageVector`. */
export const usageColumns = [
  ["prompt_tokens", "bigint"],
  ["completion_tokens", "bigint"],
  ["total_tokens", "bigint"],
  ["prompt_cost", "numeric"],
  ["completion_cost", "numeric"],
  ["total_cost", "numeric"],
] as const;

/**
 * Columns cut out of one binary parameter that holds them all: as arrays of text every quote in every payload
 * would have to be escaped here and unescaped there. A length below zero means "not sent".
 */
export const blobColumns = [
  "metadata",
  "error",
  "inputs",
  "outputs",
  "extra",
  "events",
  "serialized",
  "trigrams",
] as const;
export type BlobColumn = (typeof blobColumns)[number];

export const usageNames = usageColumns.map(([name]) => name);

/** All of them, in the order in which new runs are copied. */
export const runColumns = [
  ...simpleColumns.map(([name]) => name),
  ...textColumns,
  ...arrayColumns.map(([name]) => name),
  ...spentColumns,
  ...usageNames,
  ...blobColumns,
];
export type RunColumn = (typeof runColumns)[number];
