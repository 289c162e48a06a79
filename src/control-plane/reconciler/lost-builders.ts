import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Job } from "../../platform/jobs/job.ts";
import type { Revision } from "../desired-state/revision.ts";
import { insertEvent } from "../desired-state/revision-store.ts";

/** A build during which this many builders were lost is not begun again: it may be what ends them. */
export const maxLostBuilders = 5;

export const lostBuildersText = `The builder ended ${maxLostBuilders} times during this build, so it is not begun again. The build may need more memory or disk than the builder has. Change it, or deploy again when the builder works.`;

const eventKind = "builder_lost";
/** From here on code of the project runs. Before, a build waits or its source is read. */
const commandsProgress = 25;

/** Notes when the builder of the attempt before was lost in the midst of the project's commands; answers how many were. */
export async function countLostBuilders(
  tx: Sql,
  { id, progress }: Pick<Revision, "id" | "progress">,
  { lastError }: Pick<Job, "lastError">,
  now: Date,
): Promise<number> {
  const { rows } = await raw<{ message: string }>`
    select message from revision_events where revision_id = ${id} and kind = ${eventKind}`.execute(tx);
  if (lastError?.code !== "job.worker_lost" || progress < commandsProgress) return rows.length;
  const message = `The builder ended during attempt ${lastError.attempt} of the build.`;
  // An attempt that was given back in order since then left the error of the one before.
  if (rows.some((row) => row.message === message)) return rows.length;
  await insertEvent(tx, id, { kind: eventKind, status: null, message }, now);
  return rows.length + 1;
}
