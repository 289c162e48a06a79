import { traceTooLarge } from "../query/run-errors.ts";
import type { RunField } from "../storage/run-query.ts";
import type { RunReading } from "../storage/run-storage.ts";
import { notShared, type ShareService } from "./share-service.ts";

const maxTrace = 10_000;

export type SharedTraces = { shares: ShareService; runs: RunReading };

/** The runs of the trace that a token opens, or some of them. */
export async function sharedTrace(
  { shares, runs }: SharedTraces,
  token: string,
  fields: ReadonlySet<RunField>,
  only?: string[],
) {
  const share = await shares.open(token, "trace");
  const query = {
    workspaceId: share.workspace_id,
    traceId: share.target_id,
    ids: only?.length ? only : undefined,
  };
  const found = await runs.findTrace(query, maxTrace, fields);
  if (found.next) throw traceTooLarge(share.target_id, "name the runs you want by id");
  if (found.rows.length === 0 && !query.ids) throw notShared();
  return { ...found, traceId: share.target_id };
}
