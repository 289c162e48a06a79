import { Button, Checkbox } from "../../ui/index.ts";

/** The columns of a file, as people look for them. */
const groups: readonly (readonly [string, readonly string[]])[] = [
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
export const everyField = groups.flatMap(([, names]) => names);
export const defaultFields: ReadonlySet<string> = new Set(everyField.filter((name) => name !== optIn));
const payloads = new Set(["inputs", "outputs", "extra", "events"]);

/** Null when it is what one gets without asking. */
export function fieldsBody(chosen: ReadonlySet<string>): string[] | null {
  const isDefault =
    chosen.size === defaultFields.size && [...chosen].every((name) => defaultFields.has(name));
  return isDefault ? null : [...chosen];
}

export function FieldChoice({
  chosen,
  onChange,
}: {
  chosen: ReadonlySet<string>;
  onChange(chosen: ReadonlySet<string>): void;
}) {
  const toggle = (name: string) => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    onChange(next);
  };
  return (
    <details className="export-columns">
      <summary>
        Columns: {chosen.size} of {everyField.length}
      </summary>
      <div className="stack">
        <div className="row">
          <Button size="small" onClick={() => onChange(defaultFields)}>
            All
          </Button>
          <Button
            size="small"
            onClick={() => onChange(new Set([...defaultFields].filter((name) => !payloads.has(name))))}
          >
            Without payloads
          </Button>
          <Button size="small" onClick={() => onChange(new Set())}>
            None
          </Button>
        </div>
        <div className="field-groups">
          {groups.map(([title, names]) => (
            <fieldset key={title}>
              <legend>{title}</legend>
              {names.map((name) => (
                <Checkbox
                  key={name}
                  label={<code>{name}</code>}
                  checked={chosen.has(name)}
                  onChange={() => toggle(name)}
                />
              ))}
            </fieldset>
          ))}
        </div>
      </div>
    </details>
  );
}
