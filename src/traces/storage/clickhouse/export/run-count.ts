import type { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import { clickHouseCode } from "../../../../platform/clickhouse/clickhouse-errors.ts";
import type { CountRuns, RunCount } from "../../run-selection.ts";
import { Values } from "../filter/condition.ts";
import { exportConditions } from "./exported-runs.ts";
import { inlineValues } from "./inline-values.ts";

/** Too slow, or too much memory. */
const givenUpCodes = new Set(["159", "160", "241"]);

export async function countRuns(clickHouse: ClickHouse, input: CountRuns): Promise<RunCount> {
  if (input.projectIds.length === 0) return { rows: 0, estimate: false };
  const values = new Values();
  const conditions = exportConditions(input, values);
  const settings = { max_query_size: 16 * 1024 ** 2, prefer_column_name_to_alias: 1 };
  try {
    const statement = inlineValues(
      `select count() as runs from trace_runs final where ${conditions}`,
      values,
    );
    const [counted] = await clickHouse.rows<{ runs: number }>(statement, {
      settings: { ...settings, max_execution_time: input.timeoutMs / 1_000 },
    });
    return { rows: Number(counted!.runs), estimate: false };
  } catch (error) {
    if (!givenUpCodes.has(clickHouseCode(error) ?? "")) throw error;
    const statement = inlineValues(`explain estimate select id from trace_runs where ${conditions}`, values);
    const found = await clickHouse.rows<{ rows: number }>(statement, { settings });
    return { rows: found.reduce((sum, { rows }) => sum + Number(rows), 0), estimate: true };
  }
}
