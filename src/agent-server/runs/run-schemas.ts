import { z } from "zod";
import { jsonObject } from "../../platform/http/json-object.ts";
import { withoutAuthKeys } from "../auth/principal.ts";
import { type StreamMode, streamModes } from "../graphs/graph-call.ts";
import { checkpointRef, runCommand, runConfig } from "../graphs/graph-call-schemas.ts";
import { multitaskStrategies, type Run, runStatuses } from "./run.ts";
import type { RunRequest } from "./run-request.ts";

const nodeList = z.union([z.literal("*"), z.array(z.string())]);
const modeList = z.union([z.enum(streamModes), z.array(z.enum(streamModes))]);

const runFields = {
  assistant_id: z
    .string()
    .min(1)
    .describe("Id of an assistant, or of a graph for its default assistant.")
    .meta({ examples: ["agent"] }),
  input: z.unknown().optional(),
  command: runCommand.nullish(),
  checkpoint_id: z.string().nullish(),
  checkpoint: checkpointRef.nullish(),
  config: runConfig.nullish(),
  context: jsonObject.nullish(),
  metadata: jsonObject.nullish(),
  webhook: z.string().max(2048).nullish(),
  interrupt_before: nodeList.nullish(),
  interrupt_after: nodeList.nullish(),
  stream_mode: modeList.nullish(),
  stream_subgraphs: z.boolean().nullish(),
  stream_resumable: z.boolean().nullish(),
  on_disconnect: z.enum(["cancel", "continue"]).nullish(),
  multitask_strategy: z.enum(multitaskStrategies).nullish(),
  if_not_exists: z.enum(["create", "reject"]).nullish(),
  after_seconds: z.number().min(0).max(31_536_000).nullish(),
  on_completion: z.enum(["delete", "keep"]).nullish(),
  feedback_keys: z
    .array(z.string().min(1).max(180))
    .max(50)
    .nullish()
    .describe("The stream ends with an event `feedback`, which has a feedback link for each key."),
  durability: z.enum(["sync", "async", "exit"]).nullish(),
  checkpoint_during: z.boolean().nullish(),
  langsmith_tracer: z
    .looseObject({ project_name: z.string().min(1).max(200).nullish(), example_id: z.guid().nullish() })
    .nullish()
    .describe("`project_name`: where the run is traced; `example_id`: the example its trace refers to."),
};

const runExample = { assistant_id: "agent", input: { messages: [{ role: "user", content: "Hello" }] } };

export const runCreateBody = z.looseObject(runFields).meta({ id: "RunCreate", examples: [runExample] });
export type RunCreateBody = z.output<typeof runCreateBody>;

/** Fills in the defaults. Without a thread the run gets one of its own, which goes with it unless kept. */
export function toRunRequest(body: RunCreateBody, thread: "given" | "own"): RunRequest {
  const checkpoint = body.checkpoint ?? (body.checkpoint_id ? { checkpoint_id: body.checkpoint_id } : null);
  return {
    assistant_id: body.assistant_id,
    input: body.input,
    command: (body.command ?? null) as RunRequest["command"],
    config: body.config ?? undefined,
    context: body.context ?? undefined,
    metadata: body.metadata ?? undefined,
    checkpoint: checkpoint ? dropNulls(checkpoint) : null,
    webhook: body.webhook ?? null,
    interrupt_before: body.interrupt_before ?? null,
    interrupt_after: body.interrupt_after ?? null,
    stream_mode: modesOf(body.stream_mode),
    stream_subgraphs: body.stream_subgraphs ?? false,
    stream_resumable: body.stream_resumable ?? false,
    multitask_strategy: body.multitask_strategy ?? "enqueue",
    if_not_exists: body.if_not_exists ?? "reject",
    after_seconds: body.after_seconds ?? undefined,
    durability: body.durability ?? (body.checkpoint_during === false ? "exit" : "async"),
    feedback_keys: body.feedback_keys ?? null,
    tracing_project: body.langsmith_tracer?.project_name ?? null,
    tracing_example: body.langsmith_tracer?.example_id ?? null,
    temporary: thread === "own" && (body.on_completion ?? "delete") === "delete",
  };
}

function modesOf(mode: StreamMode | StreamMode[] | null | undefined): StreamMode[] {
  if (mode === null || mode === undefined) return ["values"];
  const list = Array.isArray(mode) ? mode : [mode];
  return list.length === 0 ? ["values"] : [...new Set(list)];
}

function dropNulls(checkpoint: z.output<typeof checkpointRef>): NonNullable<RunRequest["checkpoint"]> {
  return Object.fromEntries(
    Object.entries(checkpoint).filter(([, value]) => value !== null && value !== undefined),
  );
}

export const runView = z
  .object({
    run_id: z.guid(),
    thread_id: z.guid(),
    assistant_id: z.guid(),
    created_at: z.string(),
    updated_at: z.string(),
    status: z.enum(runStatuses),
    metadata: jsonObject,
    kwargs: jsonObject,
    multitask_strategy: z.enum(multitaskStrategies),
  })
  .meta({ id: "Run" });

export type RunView = z.output<typeof runView>;

export function toRunView(run: Run): RunView {
  return {
    run_id: run.run_id,
    thread_id: run.thread_id,
    assistant_id: run.assistant_id,
    created_at: run.created_at.toISOString(),
    updated_at: run.updated_at.toISOString(),
    status: run.status,
    metadata: run.metadata,
    kwargs: publicKwargs(run.kwargs),
    multitask_strategy: run.multitask_strategy,
  };
}

/** Without what only the server needs: who the caller is and what proves it. */
function publicKwargs(kwargs: Run["kwargs"]): Record<string, unknown> {
  const { configurable, ...config } = kwargs.config;
  const shown = Object.fromEntries(
    Object.entries(withoutAuthKeys(configurable ?? {})).filter(([key]) => !key.startsWith("__")),
  );
  return { ...kwargs, config: { ...config, configurable: shown } };
}
