import { maxTailedBytes, previewChars, type RunField, tailChars } from "../../run-query.ts";

/** A time as it is sent: UTC with microseconds. */
export const timeText = (column: string) => `concat(replaceOne(toString(${column}), ' ', 'T'), 'Z')`;

/** The select list of fields of `trace_runs`; feedback is added from PostgreSQL. Names of columns are the code's own. */
export function selectList(fields: ReadonlySet<RunField>): string {
  const names = [...new Set<RunField>(["id", "start_time", ...fields])];
  return names
    .filter((name) => name !== "feedback_stats")
    .map((name) => `${expressionOf(name)} as shown_${name}`)
    .join(", ");
}

function expressionOf(field: RunField): string {
  switch (field) {
    case "tenant_id":
      return "workspace_id";
    case "session_id":
      return "project_id";
    case "start_time":
    case "end_time":
    case "first_token_time":
      return timeText(field);
    case "total_cost":
    case "prompt_cost":
    case "completion_cost":
      return `toString(${field})`;
    case "outputs_tail":
      return `if(length(outputs) <= ${maxTailedBytes}, substringUTF8(outputs, -${tailChars}), null)`;
    case "inputs_preview":
    case "outputs_preview":
    case "error_preview":
      return `substringUTF8(${field.replace("_preview", "")}, 1, ${previewChars})`;
    default:
      return field;
  }
}
