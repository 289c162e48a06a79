import type { BoundedRead } from "../query/bounded-read.ts";
import { traceTooLarge } from "../query/run-query.ts";
import { findTrace } from "../query/run-query-store.ts";
import { notShared, type ShareService } from "./share-service.ts";

const maxTrace = 10_000;

export type SharedTraces = { shares: ShareService; read: BoundedRead };

/** The runs of the trace that a token opens, or some of them. */
export async function sharedTrace(
  { shares, read }: SharedTraces,
  token: string,
  fields: Parameters<typeof findTrace>[3],
  only?: string[],
) {
  const share = await shares.open(token, "trace");
  const query = {
    workspaceId: share.workspace_id,
    traceId: share.target_id,
    ids: only?.length ? only : undefined,
  };
  const found = await read((sql) => findTrace(sql, query, maxTrace, fields));
  if (found.next) throw traceTooLarge(share.target_id, "name the runs you want by id");
  if (found.rows.length === 0 && !query.ids) throw notShared();
  return { ...found, traceId: share.target_id };
}
