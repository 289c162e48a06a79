/** The columns of a file, as people look for them. */
export const fieldGroups: readonly (readonly [string, readonly string[]])[] = [
  ["Run", ["id", "name", "run_type", "status", "error", "start_time", "end_time", "tags", "trace_tier"]],
  ["What went in and out", ["inputs", "outputs", "extra", "events"]],
  [
    "Tree",
    ["trace_id", "parent_run_id", "parent_run_ids", "is_root", "dotted_order", "reference_example_id"],
  ],
  [
    "Tokens and cost",
    [
      "total_tokens",
      "prompt_tokens",
      "completion_tokens",
      "total_cost",
      "prompt_cost",
      "completion_cost",
      "first_token_time",
    ],
  ],
  ["Feedback", ["feedback_stats", "feedbacks"]],
  ["Where", ["tenant_id", "session_id"]],
];

/** Written only when asked for. */
const optIn = "feedbacks";
export const everyField = fieldGroups.flatMap(([, names]) => names);
export const defaultFields: ReadonlySet<string> = new Set(everyField.filter((name) => name !== optIn));
export const payloadFields = new Set(["inputs", "outputs", "extra", "events"]);

/** Null when it is what one gets without asking. */
export function fieldsBody(chosen: ReadonlySet<string>): string[] | null {
  const isDefault =
    chosen.size === defaultFields.size && [...chosen].every((name) => defaultFields.has(name));
  return isDefault ? null : [...chosen];
}
