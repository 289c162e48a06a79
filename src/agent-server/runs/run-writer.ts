import type { EventLog } from "../streaming/event-log.ts";
import type { EventFamily } from "../streaming/thread-event.ts";
import type { ClaimedRun } from "./run.ts";

/** More than this many events on their way to the log make the graph wait. */
const maxOutstanding = 512;

/** Numbers the events of one execution and sends them to the log without waiting for each. */
export class RunWriter {
  readonly #run: ClaimedRun;
  readonly #events: EventLog;
  readonly #onLost: (error: unknown) => void;
  #seq: number;
  #outstanding = 0;
  #failure: unknown;
  #wake: (() => void) | undefined;

  constructor(run: ClaimedRun, events: EventLog, onLost: (error: unknown) => void) {
    this.#run = run;
    this.#events = events;
    this.#onLost = onLost;
    this.#seq = run.last_seq;
  }

  /** The number the next event gets. */
  nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  write(family: EventFamily, name: string, namespace: string, data: string): void {
    this.#outstanding += 1;
    const { thread_id: threadId, run_id: runId, attempt } = this.#run;
    this.#events
      .append({ threadId, runId, attempt, seq: this.nextSeq(), family, name, namespace, data })
      .catch((error: unknown) => {
        if (this.#failure === undefined) this.#onLost(error);
        this.#failure ??= error;
      })
      .finally(() => {
        this.#outstanding -= 1;
        this.#wake?.();
      });
  }

  writeRow(family: EventFamily, row: { name: string; namespace: string; data: string }): void {
    this.write(family, row.name, row.namespace, row.data);
  }

  /** Back-pressure: returns at once while there is room. */
  async room(): Promise<void> {
    while (this.#outstanding > maxOutstanding) await this.#change();
  }

  /** Resolves when everything written is durable; rejects when something could not be. */
  async settled(): Promise<void> {
    while (this.#outstanding > 0) await this.#change();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
