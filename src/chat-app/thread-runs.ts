import type { Command } from "@langchain/langgraph";
import { errorMessage } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import { ProtocolError } from "../platform/streaming-protocol/protocol-error.ts";
import type { ChatGraph } from "./assistant.ts";
import type { EventLog } from "./event-log.ts";
import { type DraftEvent, toDrafts } from "./protocol-event.ts";

export type RunRequest = {
  runId: string;
  assistantId: string;
  graph: ChatGraph;
  /** A state update, or `null` to go on where the graph stopped, or a `Command` that answers an interrupt. */
  input: Record<string, unknown> | null | Command;
  config: {
    configurable: Record<string, unknown>;
    metadata: Record<string, unknown>;
    recursionLimit?: number;
  };
};

/** What to do when a run is started while another is going on. */
export type MultitaskStrategy = "enqueue" | "interrupt" | "reject";

type Ticket = { runId: string; abort: AbortController };

const maxWaiting = 10;

/** The runs of one thread: one at a time, in the order they were started, each writing its events to the log. */
export class ThreadRuns {
  readonly #log: EventLog;
  readonly #logger: Logger;
  /** The running one first, then the waiting ones. */
  #tickets: Ticket[] = [];
  #tail: Promise<void> = Promise.resolve();

  constructor(log: EventLog, logger: Logger) {
    this.#log = log;
    this.#logger = logger;
  }

  get activeRunId(): string | null {
    return this.#tickets[0]?.runId ?? null;
  }

  start(request: RunRequest, strategy: MultitaskStrategy): void {
    if (this.#tickets.length > 0 && strategy === "reject") {
      throw new ProtocolError(
        "invalid_argument",
        "A run is in progress in this thread. Wait for it, or cancel it first.",
      );
    }
    if (this.#tickets.length > maxWaiting) {
      throw new ProtocolError(
        "invalid_argument",
        `${maxWaiting} runs are already waiting in this thread. Wait until one has ended.`,
      );
    }
    if (strategy === "interrupt") this.cancelAll();
    const ticket: Ticket = { runId: request.runId, abort: new AbortController() };
    this.#tickets.push(ticket);
    // Emitted at once when nothing is ahead of it, so that the answer to the command already counts it.
    const isFirst = this.#tickets.length === 1;
    if (isFirst) this.#lifecycle(request, "running");
    this.#tail = this.#tail.then(async () => {
      if (!ticket.abort.signal.aborted) {
        if (!isFirst) this.#lifecycle(request, "running");
        await this.#execute(request, ticket.abort.signal);
      } else if (isFirst) this.#lifecycle(request, "interrupted");
      this.#tickets = this.#tickets.filter((other) => other !== ticket);
    });
  }

  /** False when no such run is active or waiting. */
  cancel(runId: string): boolean {
    const ticket = this.#tickets.find((candidate) => candidate.runId === runId);
    ticket?.abort.abort();
    return ticket !== undefined;
  }

  cancelAll(): void {
    for (const { abort } of this.#tickets) abort.abort();
  }

  /** Resolves when all that was started has ended. */
  async settled(): Promise<void> {
    await this.#tail;
  }

  async #execute(request: RunRequest, signal: AbortSignal): Promise<void> {
    try {
      const events = await request.graph.streamEvents(request.input, {
        ...request.config,
        version: "v3",
        signal,
      });
      const asked = new Set<unknown>();
      for await (const event of events) {
        // After a cancel the library may still deliver what it had in hand.
        if (signal.aborted) continue;
        for (const draft of toDrafts(event)) this.#publish(draft, asked);
      }
      this.#lifecycle(request, signal.aborted || events.interrupted ? "interrupted" : "completed");
    } catch (error) {
      if (signal.aborted) return this.#lifecycle(request, "interrupted");
      this.#logger.warn({ err: error, run_id: request.runId }, "a run of the chat application failed");
      this.#lifecycle(request, "failed", errorMessage(error));
    }
  }

  /** The same interrupt surfaces once per level of nesting; a person is asked once. */
  #publish(draft: DraftEvent, asked: Set<unknown>): void {
    if (draft.method === "input.requested") {
      const id = (draft.params.data as { interrupt_id?: unknown }).interrupt_id;
      if (asked.has(id)) return;
      asked.add(id);
    }
    this.#log.append(draft);
  }

  #lifecycle(request: RunRequest, event: string, error?: string): void {
    const data = { event, graph_name: request.assistantId, ...(error === undefined ? {} : { error }) };
    this.#log.append({ method: "lifecycle", params: { namespace: [], timestamp: Date.now(), data } });
  }
}
