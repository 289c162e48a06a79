import { type Run, timeTextSql } from "../../../runs/run.ts";

/**
 * The select list of one field of `Run` from `trace_runs` under this alias. `feedback_stats` comes from
 * `left join trace_feedback_stats f on f.run_id = r.id and f.workspace_id = r.workspace_id`.
 */
export function runFieldSql(field: keyof Run, alias = "r"): string {
  switch (field) {
    case "tenant_id":
      return `${alias}.workspace_id`;
    case "session_id":
      return `${alias}.project_id`;
    case "start_time":
    case "end_time":
    case "first_token_time":
      return timeTextSql(`${alias}.${field}`);
    case "total_cost":
    case "prompt_cost":
    case "completion_cost":
      return `trim_scale(${alias}.${field})`;
    case "parent_run_ids":
      return `${alias}.parent_run_ids::text[]`;
    case "feedback_stats":
      return "f.feedback_stats";
    default:
      return `${alias}.${field}`;
  }
}
