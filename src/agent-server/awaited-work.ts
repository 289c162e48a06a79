import { z } from "zod";
import { askOnce } from "../platform/db/connection/ask-once.ts";
import { errorMessage } from "../platform/errors.ts";
import { webhookJobKind } from "./webhooks/run-webhooks.ts";

/** `isBusy`: a run, a cron or a webhook is under way or due. `dueAt`: when the next delayed run or cron is. */
export type AwaitedWork = { isBusy: boolean; dueAt: Date | null };

export type AwaitedWorkOptions = {
  /** It cannot be read: why. */
  onUnknown(reason: string): void;
  patienceMs?: number;
};

const answer = z.tuple([z.object({ is_busy: z.boolean(), due_ms: z.number().nullable() })]);

const question = `
  select (
    exists (select 1 from runs where status = 'running'
      or (status = 'pending' and ended_at is null and available_at <= now()))
    or exists (select 1 from cron_firings)
    or exists (select 1 from crons where next_run_date <= now())
    or exists (select 1 from jobs where kind = $1 and status in ('pending', 'running'))
  )::boolean as is_busy,
  (extract(epoch from case when due.at > now() + interval '1 year' then now() + interval '1 year' else due.at end)
    * 1000)::float8 as due_ms
  from (select least(
    (select min(available_at) from runs where status = 'pending' and ended_at is null and available_at > now()),
    (select min(next_run_date) from crons where next_run_date > now()))::timestamptz as at) due`;

/**
 * What an agent server with this database does or waits for; null where that cannot be read, because it is no agent
 * server's. Asked with the rights of that database alone, and bounded: its owner may have changed it.
 */
export async function readAwaitedWork(
  databaseUrl: string,
  { onUnknown, patienceMs = 10_000 }: AwaitedWorkOptions,
): Promise<AwaitedWork | null> {
  try {
    const asked = { url: databaseUrl, applicationName: "treadle sleep", patienceMs };
    const [{ is_busy: isBusy, due_ms: dueMs }] = answer.parse(
      await askOnce(asked, question, [webhookJobKind]),
    );
    return { isBusy, dueAt: dueMs === null ? null : new Date(dueMs) };
  } catch (error) {
    onUnknown(errorMessage(error));
    return null;
  }
}
