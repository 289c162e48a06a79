import type { Filter } from "../filter/filter.ts";
import { parseFilter } from "../filter/parse-filter.ts";
import type { RunQuery } from "../storage/run-query.ts";

export function ofThread(
  workspaceId: string,
  projectId: string,
  threadId: string,
  filterText?: string,
): RunQuery {
  const thread: Filter = { kind: "compare", op: "eq", field: "thread_id", value: threadId };
  const own = filterText ? parseFilter(filterText, ["query", "filter"]) : undefined;
  const filter: Filter = own ? { kind: "and", parts: [thread, { kind: "and", parts: [own] }] } : thread;
  return { workspaceId, projectIds: [projectId], isRoot: true, filter };
}
