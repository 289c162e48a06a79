import { z } from "zod";
import { faultReasons } from "../filter/filter-error.ts";
import { feedbackSummary } from "../runs/feedback-summary.ts";
import { time } from "../wire/time-schema.ts";

const id = z.guid().transform((text) => text.toLowerCase());
/** One or several: clients send either. */
const ids = z
  .union([id, z.array(id).max(10_000)])
  .transform((value) => (Array.isArray(value) ? value : [value]));

const filterText = z.string().nullish().describe("An expression of the filter language.");

/** What every query of runs may name. */
const selection = {
  session: ids.nullish().describe("Projects; default: all of the workspace."),
  id: ids.nullish(),
  trace: id.nullish(),
  parent_run: id.nullish(),
  reference_example: ids.nullish(),
  run_type: z.string().nullish(),
  is_root: z.boolean().nullish(),
  error: z.boolean().nullish(),
  execution_order: z.int().min(0).max(2_147_483_647).nullish(),
  start_time: time.nullish().describe("Runs that started at this time or later."),
  end_time: time.nullish().describe("Runs that started before this time."),
  query: z.string().nullish().describe("Words that must occur in the run."),
  filter: filterText,
  trace_filter: filterText,
  tree_filter: filterText,
};

export const runQueryBody = z
  .looseObject({
    ...selection,
    select: z.array(z.string()).nullish(),
    limit: z.int().min(1).nullish().describe("At most 100 per page; ignored with `trace`."),
    cursor: z.string().nullish(),
    order: z.enum(["asc", "desc"]).nullish(),
  })
  .meta({ id: "RunQuery" });
export type RunQueryBody = z.output<typeof runQueryBody>;

export const runStatsBody = z.looseObject(selection).meta({ id: "RunStatsQuery" });
export type RunStatsBody = z.output<typeof runStatsBody>;

export const validateBody = z
  .looseObject({ filter: filterText, trace_filter: filterText, tree_filter: filterText })
  .meta({ id: "RunQueryValidation" });

export const runView = z
  .looseObject({
    id: z.guid(),
    name: z.string(),
    run_type: z.string(),
    status: z.string(),
    trace_id: z.guid(),
    dotted_order: z.string(),
    session_id: z.guid(),
    app_path: z.string(),
    start_time: z.string(),
    end_time: z.string().nullish(),
    inputs: z.unknown().optional(),
    outputs: z.unknown().optional(),
    error: z.string().nullish(),
    parent_run_id: z.guid().nullish(),
    parent_run_ids: z.array(z.guid()).optional(),
    tags: z.array(z.string()).optional(),
    latency: z.number().nullish().describe("Seconds."),
    first_token_time: z.string().nullish(),
    total_tokens: z.int().optional(),
    prompt_tokens: z.int().nullish(),
    completion_tokens: z.int().nullish(),
    total_cost: z.string().nullish(),
    is_root: z.boolean().optional(),
    thread_id: z.string().nullish(),
    reference_example_id: z.guid().nullish(),
    extra: z.unknown().optional(),
    events: z.unknown().optional(),
    serialized: z.unknown().optional(),
    inputs_preview: z.string().nullish(),
    outputs_preview: z.string().nullish(),
    outputs_tail: z.string().nullish(),
    error_preview: z.string().nullish(),
    feedback_stats: feedbackSummary.nullish(),
    s3_urls: z
      .record(z.string(), z.object({ presigned_url: z.string(), mime_type: z.string(), size: z.int() }))
      .nullish()
      .describe(
        "By `attachment.<name>`: where the run's attachments are read without a key, for a day. In the answer for one run, and in a page whose `select` names it.",
      ),
  })
  .meta({ id: "TraceRun" });

export const runPage = z
  .object({
    runs: z.array(runView),
    cursors: z.object({ next: z.string().nullable() }),
    parsed_query: z.string().nullable(),
  })
  .meta({ id: "TraceRunPage" });

const filterFault = z
  .object({
    field: z.string(),
    reason: z.enum(faultReasons).describe("The kind of mistake."),
    message: z.string().describe("The full message."),
    problem: z.string().describe("What is wrong, without the expected text and the position."),
    line: z.int(),
    column: z.int(),
    offset: z.int(),
    expected: z.string().nullable().describe("What is expected there, in words."),
    found: z.string().nullable().describe("The unknown word."),
    choices: z.array(z.string()).nullable().describe("The words that are allowed there."),
  })
  .meta({ id: "FilterFault" });

export const validation = z
  .object({ valid: z.boolean(), errors: z.array(filterFault) })
  .meta({ id: "RunQueryValidationResult" });

export const traceView = z
  .object({ trace_id: z.guid(), truncated: z.boolean(), runs: z.array(runView) })
  .meta({ id: "Trace" });
