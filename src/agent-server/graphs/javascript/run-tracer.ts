import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { LLMResult } from "@langchain/core/outputs";
import { type TraceTime, traceTime } from "../../../platform/trace-time.ts";
import { toWire } from "../../checkpoints/message-wire.ts";
import type { TracedSpan } from "../graph-runtime.ts";
import {
  attemptName,
  attemptSpanId,
  attemptTag,
  lostAttemptError,
  type ResumedAttempt,
} from "../resumed-attempt.ts";

/** Takes finished spans, by the names of the tracing wire. Never waits and never throws. */
export type SpanSink = (span: TracedSpan) => void;

/** The run itself, as the root of its trace. */
export type TraceRoot = {
  id: string;
  name: string;
  metadata: Record<string, unknown>;
  /** The example of a dataset that it was run on. */
  exampleId?: string | undefined;
  /** Another attempt began the run, with these inputs: this one continues its trace. */
  resumed?: (ResumedAttempt & { inputs: unknown }) | undefined;
  /** Another attempt continues: this attempt ends now, the run does not. */
  isHandedBack(): boolean;
};

type Span = {
  id: string;
  parentId: string | undefined;
  dottedOrder: string;
  startTime: string;
  name: string;
  runType: string;
  inputs: unknown;
  tags: string[];
  metadata: Record<string, unknown>;
  events: { name: string; time: string }[];
};

type Named = { id?: unknown[]; name?: string } | undefined;
const hiddenTag = "langsmith:hidden";

/**
 * Follows one execution and hands each step to the traces when it is over. Handed over at the end, once:
 * half the writes of announcing a step and completing it later.
 */
export class RunTracer extends BaseCallbackHandler {
  readonly name = "treadle_run_tracer";
  override awaitHandlers = false;
  readonly #sink: SpanSink;
  readonly #root: TraceRoot;
  readonly #open = new Map<string, Span>();
  /** Steps the library hides; their children belong to their parents. */
  readonly #hidden = new Map<string, string | undefined>();
  #lastMs = 0;
  #sameMs = 0;

  constructor(root: TraceRoot, sink: SpanSink) {
    super();
    this.#root = root;
    this.#sink = sink;
  }

  override handleChainStart(
    chain: Named,
    inputs: unknown,
    runId: string,
    parentRunId?: string,
    tags?: string[],
    metadata?: Record<string, unknown>,
    runType?: string,
    runName?: string,
  ): void {
    this.#start(runId, parentRunId, runType ?? "chain", runName ?? nameOf(chain), inputs, tags, metadata);
  }

  override handleChainEnd(outputs: unknown, runId: string): void {
    this.#end(runId, { outputs: asObject(outputs, "output") });
  }

  override handleChainError(error: unknown, runId: string): void {
    this.#end(runId, { error: describe(error) });
  }

  override handleChatModelStart(
    model: Named,
    messages: unknown[][],
    runId: string,
    parentRunId?: string,
    extra?: Record<string, unknown>,
    tags?: string[],
    metadata?: Record<string, unknown>,
    runName?: string,
  ): void {
    const known = {
      ...metadata,
      ...(extra?.invocation_params ? { invocation_params: extra.invocation_params } : {}),
    };
    this.#start(runId, parentRunId, "llm", runName ?? nameOf(model), { messages }, tags, known);
  }

  override handleLLMStart(
    model: Named,
    prompts: string[],
    runId: string,
    parentRunId?: string,
    _extra?: Record<string, unknown>,
    tags?: string[],
    metadata?: Record<string, unknown>,
    runName?: string,
  ): void {
    this.#start(runId, parentRunId, "llm", runName ?? nameOf(model), { prompts }, tags, metadata);
  }

  override handleLLMNewToken(_token: string, _index: unknown, runId: string): void {
    const span = this.#open.get(runId);
    // The first one shows how long the model took to begin; the rest would only fill the trace.
    if (span && span.events.length === 0)
      span.events.push({ name: "new_token", time: new Date().toISOString() });
  }

  override handleLLMEnd(output: LLMResult, runId: string): void {
    const generation = output.generations[0]?.[0] as { message?: { usage_metadata?: unknown } } | undefined;
    const usage = generation?.message?.usage_metadata;
    const span = this.#open.get(runId);
    if (span && usage) span.metadata = { ...span.metadata, usage_metadata: usage };
    this.#end(runId, { outputs: output });
  }

  override handleLLMError(error: unknown, runId: string): void {
    this.#end(runId, { error: describe(error) });
  }

  override handleToolStart(
    tool: Named,
    input: string,
    runId: string,
    parentRunId?: string,
    tags?: string[],
    metadata?: Record<string, unknown>,
    runName?: string,
  ): void {
    this.#start(runId, parentRunId, "tool", runName ?? nameOf(tool), { input }, tags, metadata);
  }

  override handleToolEnd(output: unknown, runId: string): void {
    this.#end(runId, { outputs: { output } });
  }

  override handleToolError(error: unknown, runId: string): void {
    this.#end(runId, { error: describe(error) });
  }

  override handleRetrieverStart(
    retriever: Named,
    query: string,
    runId: string,
    parentRunId?: string,
    tags?: string[],
    metadata?: Record<string, unknown>,
    runName?: string,
  ): void {
    this.#start(runId, parentRunId, "retriever", runName ?? nameOf(retriever), { query }, tags, metadata);
  }

  override handleRetrieverEnd(documents: unknown, runId: string): void {
    this.#end(runId, { outputs: { documents } });
  }

  override handleRetrieverError(error: unknown, runId: string): void {
    this.#end(runId, { error: describe(error) });
  }

  #start(
    id: string,
    parentRunId: string | undefined,
    runType: string,
    name: string,
    inputs: unknown,
    tags: string[] = [],
    metadata: Record<string, unknown> = {},
  ): void {
    const parentId = this.#visible(parentRunId);
    if (tags.includes(hiddenTag)) {
      this.#hidden.set(id, parentId);
      return;
    }
    if (id === this.#root.id && this.#root.resumed) {
      this.#resume(this.#root.resumed, { runType, tags, metadata });
      return;
    }
    const { iso, stamp } = this.#now();
    const parent = parentId === undefined ? undefined : this.#open.get(parentId);
    const segment = `${stamp}${id}`;
    this.#open.set(id, {
      id,
      parentId: parent ? parentId : undefined,
      dottedOrder: parent ? `${parent.dottedOrder}.${segment}` : segment,
      startTime: iso,
      name: parent ? name : this.#root.name,
      runType,
      inputs,
      tags,
      metadata: parent ? metadata : { ...metadata, ...this.#root.metadata },
      events: [],
    });
  }

  /**
   * The trace of a resumed run: its root as the first attempt began it, the attempt that was lost, and this one,
   * below which its steps stand. All three are announced, so that they are there if this attempt is lost too.
   */
  #resume(
    { number, startedAt, inputs }: NonNullable<TraceRoot["resumed"]>,
    given: Pick<Span, "runType" | "tags" | "metadata">,
  ): void {
    const { id, name, metadata } = this.#root;
    const now = this.#now();
    const first = traceTime(Math.min(startedAt.getTime(), Date.parse(now.iso)));
    const root: Span = {
      ...{ ...given, id, name, inputs, parentId: undefined, events: [] },
      dottedOrder: `${first.stamp}${id}`,
      startTime: first.iso,
      metadata: { ...given.metadata, ...metadata },
    };
    this.#open.set(id, root);
    // An attempt that began later than the first announced itself then; the earlier start stands.
    const lost = this.#attempt(root, number - 1, number === 2 ? first : now);
    const here = this.#attempt(root, number, now);
    this.#open.set(here.id, here);
    this.#hidden.set(id, here.id);
    this.#sink(this.#record(root));
    this.#sink({ ...this.#record(lost), end_time: now.iso, error: lostAttemptError(number - 1) });
    this.#sink(this.#record(here));
  }

  #attempt(root: Span, number: number, { iso, stamp }: TraceTime): Span {
    const id = attemptSpanId(root.id, number);
    return {
      ...{ id, parentId: root.id, name: attemptName(number), runType: "chain", inputs: {}, events: [] },
      dottedOrder: `${root.dottedOrder}.${stamp}${id}`,
      startTime: iso,
      tags: [attemptTag],
      metadata: { run_attempt: number },
    };
  }

  #end(id: string, result: { outputs?: unknown; error?: string }): void {
    const isRoot = id === this.#root.id;
    this.#hidden.delete(id);
    const span = this.#open.get(id);
    if (!span) return;
    this.#open.delete(id);
    if (isRoot && this.#root.isHandedBack()) return;
    if (isRoot && this.#root.resumed) this.#end(attemptSpanId(id, this.#root.resumed.number), result);
    this.#sink({
      ...this.#record(span),
      end_time: this.#now().iso,
      ...(result.outputs === undefined ? {} : { outputs: toWire(result.outputs) }),
      ...(result.error === undefined ? {} : { error: result.error }),
    });
  }

  #record(span: Span): TracedSpan {
    return {
      id: span.id,
      trace_id: this.#root.id,
      ...(span.parentId ? { parent_run_id: span.parentId } : {}),
      ...(!span.parentId && this.#root.exampleId ? { reference_example_id: this.#root.exampleId } : {}),
      dotted_order: span.dottedOrder,
      name: span.name,
      run_type: span.runType,
      start_time: span.startTime,
      inputs: toWire(asObject(span.inputs, "input")),
      extra: { metadata: toWire(span.metadata) },
      tags: span.tags,
      ...(span.events.length > 0 ? { events: span.events } : {}),
    };
  }

  #visible(id: string | undefined): string | undefined {
    let current = id;
    while (current !== undefined && this.#hidden.has(current)) current = this.#hidden.get(current);
    return current;
  }

  /** Steps of one millisecond keep their order: the clock's missing digits count them. */
  #now(): TraceTime {
    const now = Date.now();
    this.#sameMs = now === this.#lastMs ? Math.min(this.#sameMs + 1, 999) : 0;
    this.#lastMs = now;
    return traceTime(now, this.#sameMs);
  }
}

function nameOf(named: Named): string {
  return named?.name ?? String(named?.id?.at(-1) ?? "step");
}

function asObject(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : { [key]: value };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
