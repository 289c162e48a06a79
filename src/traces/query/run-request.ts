import { invalidField } from "../../platform/errors.ts";
import type { Filter } from "../filter/filter.ts";
import { maxComparisons } from "../filter/filter-parser.ts";
import { parseFilter } from "../filter/parse-filter.ts";
import type { RunQuery } from "../storage/run-query.ts";
import type { RunStatsBody } from "./run-query-schemas.ts";

/** The question behind a request's body. Throws the 422 of a filter that cannot be read. */
export function readRunQuery(workspaceId: string, body: RunStatsBody): RunQuery {
  const filters = [readFilter(body, "filter"), readWords(body.query)].filter((each) => each !== undefined);
  return {
    workspaceId,
    projectIds: body.session ?? undefined,
    ids: body.id ?? undefined,
    traceId: body.trace ?? undefined,
    parentRunId: body.parent_run ?? undefined,
    exampleIds: body.reference_example ?? undefined,
    runType: body.run_type ?? undefined,
    isRoot: body.is_root ?? undefined,
    hasError: body.error ?? undefined,
    executionOrder: body.execution_order ?? undefined,
    since: body.start_time ?? undefined,
    until: body.end_time ?? undefined,
    // Each in a group of its own: pairs of one filter must not bind to keys of another.
    filter: filters.length < 2 ? filters[0] : { kind: "and", parts: filters },
    traceFilter: readFilter(body, "trace_filter"),
    treeFilter: readFilter(body, "tree_filter"),
  };
}

export const filterFields = ["filter", "trace_filter", "tree_filter"] as const;

type FilterTexts = Partial<Record<(typeof filterFields)[number], string | null | undefined>>;

/** An empty text is no filter, as clients send one for "none". */
export function readFilter(body: FilterTexts, field: (typeof filterFields)[number]): Filter | undefined {
  const text = body[field];
  if (text === null || text === undefined || text.trim() === "") return undefined;
  return parseFilter(text, ["body", field]);
}

function readWords(query: string | null | undefined): Filter | undefined {
  const tokens = (query ?? "")
    .replaceAll("\0", "")
    .split(/\s+/)
    .filter((token) => token !== "");
  if (tokens.length > maxComparisons)
    throw invalidField(["body", "query"], `At most ${maxComparisons} words can be searched for at once.`);
  return tokens.length === 0 ? undefined : { kind: "search", field: null, tokens };
}
