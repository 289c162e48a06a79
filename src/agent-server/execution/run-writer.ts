import type { EventLog } from "../delivery/event-log.ts";
import { type EventFamily, type EventNumbers, takeNumbers } from "../delivery/thread-event.ts";
import type { ClaimedRun } from "../runs/run.ts";
import type { UnnumberedEvent } from "../runs/run-end.ts";

/** More than this many events on their way to the log make the graph wait. */
const maxOutstanding = 512;

/** Numbers the events of one execution and sends them to the log without waiting for each. */
export class RunWriter {
  readonly #run: ClaimedRun;
  readonly #events: EventLog;
  readonly #onLost: (error: unknown) => void;
  readonly #requireHeld: () => void;
  readonly #held: UnnumberedEvent[] = [];
  readonly #numbers: EventNumbers;
  #outstanding = 0;
  #failure: unknown;
  #wake: (() => void) | undefined;

  constructor(
    run: ClaimedRun,
    options: { events: EventLog; runNumber: number; requireHeld(): void; onLost(error: unknown): void },
  ) {
    this.#run = run;
    this.#events = options.events;
    this.#onLost = options.onLost;
    this.#requireHeld = options.requireHeld;
    this.#numbers = { seq: run.last_seq, protocol: run.protocol_seq, run: options.runNumber };
  }

  /** The last numbers given out. */
  get numbers(): EventNumbers {
    return { ...this.#numbers };
  }

  /** Throws when the run is not ours any more. */
  write(family: EventFamily, name: string, namespace: string, data: string): void {
    this.#requireHeld();
    this.#outstanding += 1;
    const { thread_id: threadId, run_id: runId, attempt } = this.#run;
    this.#events
      .append({
        threadId,
        runId,
        attempt,
        ...takeNumbers(this.#numbers, family),
        family,
        name,
        namespace,
        data,
      })
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

  /** Keeps an event that invites an answer until the run ends: before that the answer could not be taken. */
  hold(family: EventFamily, row: { name: string; namespace: string; data: string }): void {
    this.#held.push({ family, ...row });
  }

  get held(): readonly UnnumberedEvent[] {
    return this.#held;
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
