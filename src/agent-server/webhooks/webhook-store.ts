import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Run } from "../runs/run.ts";
import { runColumns } from "../runs/run-statements.ts";
import { type RunRow, toRun } from "../runs/run-store.ts";
import type { WebhookJob } from "./webhook.ts";

export type EndedRun = { run: Run; values: unknown };

/** A run with the values of its thread, as they are now. */
export async function findRunWithValues(sql: Sql, runId: string): Promise<EndedRun | null> {
  const columns = raw.raw(runColumns.replaceAll(/\b([a-z_]+)\b/g, "r.$1"));
  const { rows } = await raw<RunRow & { thread_values: string | null }>`select ${columns},
      t.values_json as thread_values
    from runs r join threads t on t.thread_id = r.thread_id where r.run_id = ${runId}`.execute(sql);
  const [row] = rows;
  if (!row) return null;
  const { thread_values, ...run } = row;
  return { run: toRun(run), values: thread_values === null ? null : JSON.parse(thread_values) };
}

/** A later attempt of the same run ended: the job that waits for the run sends that one. */
export async function replacePayload(sql: Sql, jobId: string, payload: WebhookJob): Promise<void> {
  await raw`update jobs set payload = ${JSON.stringify(payload)}::jsonb
    where id = ${jobId} and status in ('pending', 'running')`.execute(sql);
}
