import type { Database, Sql } from "../../../../platform/db/database.ts";
import { sqlState } from "../../../../platform/db/database-errors.ts";
import { inlineParameters } from "../../../../platform/db/inline-parameters.ts";
import { raw } from "../../../../platform/db/raw.ts";
import type { CountRuns, RunCount } from "../../run-selection.ts";
import { filterConditions } from "./export-conditions.ts";

const cancelled = "57014";

export async function countRuns(database: Database, input: CountRuns): Promise<RunCount> {
  if (input.projectIds.length === 0) return { rows: 0, estimate: false };
  const conditions = [
    raw`r.workspace_id = ${input.workspaceId}`,
    raw`r.project_id = any(${`{${input.projectIds.join(",")}}`}::uuid[])`,
    raw`r.start_time >= ${input.from}`,
    raw`r.start_time < ${input.to}`,
  ];
  conditions.push(...filterConditions(input));
  const matching = raw`from trace_runs r where ${raw.join(conditions, raw` and `)}`;
  try {
    const rows = await database.transaction(async (tx) => {
      await raw`select set_config('statement_timeout', ${String(input.timeoutMs)}, true)`.execute(tx);
      const counted = await raw<{ rows: string }>`select count(*) as rows ${matching}`.execute(tx);
      return Number(counted.rows[0]!.rows);
    });
    return { rows, estimate: false };
  } catch (error) {
    if (sqlState(error) !== cancelled) throw error;
    const select = inlineParameters(database.sql, raw`select r.id ${matching}`);
    return { rows: await guessRows(database.sql, select), estimate: true };
  }
}

type Plan = { Plan: { "Plan Rows": number } };

async function guessRows(sql: Sql, select: string): Promise<number> {
  const { rows } = await raw.raw<{ "QUERY PLAN": [Plan] }>(`explain (format json) ${select}`).execute(sql);
  return Math.round(rows[0]!["QUERY PLAN"][0].Plan["Plan Rows"]);
}
