import type { Clock } from "../platform/clock.ts";
import { errorMessage } from "../platform/errors.ts";
import type { SseBatch } from "../platform/http/server/sse.ts";
import { newId } from "../platform/ids.ts";
import { traceTime } from "../platform/trace-time.ts";

/** A model that is ready to answer. */
export type PlaygroundModel = {
  provider: string;
  model: string;
  stream(
    signal: AbortSignal,
    maxChars: number,
  ): AsyncGenerator<
    string,
    { content: unknown; tool_calls: readonly unknown[]; usage: Record<string, unknown> | undefined }
  >;
};

export type PlaygroundCall = {
  workspaceId: string;
  userId: string;
  modelName: string;
  messages: readonly Record<string, unknown>[];
  temperature?: number | undefined;
  maxTokens?: number | undefined;
  tools?: readonly Record<string, unknown>[] | undefined;
  /** The run it was copied from. */
  sourceRunId?: string | undefined;
};

type Span = Record<string, unknown> & { id: string };

export type PlaygroundPorts = {
  clock: Clock;
  /** Throws if the model is unknown, or its provider has no key. */
  openModel(call: PlaygroundCall): Promise<PlaygroundModel>;
  /** Undefined where nothing is traced. */
  trace?: ((place: { workspaceId: string; project: string }, span: Span) => void) | undefined;
};

export const playgroundProject = "playground";
const limitMs = 120_000;
const maxChars = 200_000;

/** Calls of models that people write by hand. Each is traced, in a project of its own. */
export class Playground {
  readonly #ports: PlaygroundPorts;

  constructor(ports: PlaygroundPorts) {
    this.#ports = ports;
  }

  /** Obstacles (no key, an unknown model) are thrown before anything is streamed. */
  async run(call: PlaygroundCall): Promise<(signal: AbortSignal) => AsyncIterable<SseBatch>> {
    const model = await this.#ports.openModel(call);
    return (signal) => this.#stream(call, model, signal);
  }

  async *#stream(call: PlaygroundCall, model: PlaygroundModel, gone: AbortSignal): AsyncGenerator<SseBatch> {
    const id = newId();
    const started = this.#ports.clock.now();
    const limit = AbortSignal.timeout(limitMs);
    const signal = AbortSignal.any([gone, limit]);
    let firstToken: Date | undefined;
    const span = { id, call, model, started };
    yield [frame("started", { run_id: id })];
    try {
      const parts = model.stream(signal, maxChars);
      let next = await parts.next();
      while (!next.done) {
        firstToken ??= this.#ports.clock.now();
        yield [frame("delta", { text: next.value })];
        next = await parts.next();
      }
      const { content, tool_calls, usage } = next.value;
      const message = { type: "ai", content, tool_calls };
      const ended = this.#ports.clock.now();
      this.#trace({ ...span, ended, firstToken, message, usage });
      const latency_ms = ended.getTime() - started.getTime();
      yield [frame("message", { message, usage: usage ?? null, latency_ms })];
    } catch (error) {
      const message = limit.aborted
        ? `The model took longer than ${limitMs / 1_000} s and was stopped.`
        : errorMessage(error);
      this.#trace({ ...span, ended: this.#ports.clock.now(), firstToken, error: message });
      yield [frame("error", { message })];
    }
  }

  #trace(traced: Traced): void {
    const { workspaceId } = traced.call;
    this.#ports.trace?.({ workspaceId, project: playgroundProject }, spanOf(traced));
  }
}

type Traced = {
  id: string;
  call: PlaygroundCall;
  model: Pick<PlaygroundModel, "provider" | "model">;
  started: Date;
  ended: Date;
  firstToken?: Date | undefined;
  message?: Record<string, unknown> | undefined;
  usage?: Record<string, unknown> | undefined;
  error?: string | undefined;
};

function spanOf({ id, call, model, started, ended, firstToken, message, usage, error }: Traced): Span {
  const start = traceTime(started);
  const { temperature, maxTokens: max_tokens, tools } = call;
  const settings = { model: model.model, temperature, max_tokens, tools };
  return {
    id,
    trace_id: id,
    dotted_order: `${start.stamp}${id}`,
    name: model.model,
    run_type: "llm",
    start_time: start.iso,
    end_time: traceTime(ended).iso,
    inputs: { messages: call.messages },
    ...(message ? { outputs: { messages: [message] } } : {}),
    ...(error === undefined ? {} : { error }),
    ...(firstToken ? { events: [{ name: "new_token", time: traceTime(firstToken).iso }] } : {}),
    extra: {
      metadata: {
        ls_provider: model.provider,
        ls_model_name: model.model,
        ls_temperature: temperature,
        invocation_params: settings,
        ...(usage ? { usage_metadata: usage } : {}),
        ...(call.sourceRunId ? { playground_of: call.sourceRunId } : {}),
        user_id: call.userId,
      },
    },
  };
}

function frame(event: string, data: object) {
  return { event, data: JSON.stringify(data) };
}
