import type { EventLog } from "../delivery/event-log.ts";
import type { EventRow } from "../delivery/event-store.ts";
import { type EventFamily, type EventNumbers, takeNumbers } from "../delivery/thread-event.ts";
import type { ClaimedRun } from "../runs/run.ts";
import type { UnnumberedEvent } from "../runs/run-end.ts";

/** More than this many events on their way to the log make the graph wait. */
const maxOutstanding = 512;
/** How long events are kept back while nobody reads them: who begins to is given them at once. */
const keepMs = 100;
const maxKept = 64;
const maxKeptLength = 64_000;

export type RunWriterOptions = {
  events: EventLog;
  /** The last numbers given out. */
  numbers: EventNumbers;
  requireHeld(): void;
  onLost(error: unknown): void;
  /** Whether somebody may be reading the thread's log now. */
  isFollowed(): boolean;
};

/**
 * Numbers the events of one execution and sends them to the log without waiting for each. Those that nobody reads are
 * kept back for a moment: of a short run they are then committed with its end, not with a commit of their own.
 */
export class RunWriter {
  readonly #run: ClaimedRun;
  readonly #options: RunWriterOptions;
  readonly #held: UnnumberedEvent[] = [];
  readonly #numbers: EventNumbers;
  #kept: EventRow[] = [];
  #keptLength = 0;
  #keptUntil: NodeJS.Timeout | undefined;
  #outstanding = 0;
  #failure: unknown;
  #wake: (() => void) | undefined;

  constructor(run: ClaimedRun, options: RunWriterOptions) {
    this.#run = run;
    this.#options = options;
    this.#numbers = { ...options.numbers };
  }

  /** The last numbers given out. */
  get numbers(): EventNumbers {
    return { ...this.#numbers };
  }

  /** Throws when the run is not ours any more. */
  write(family: EventFamily, name: string, namespace: string, data: string): void {
    this.#options.requireHeld();
    const { thread_id: threadId, run_id: runId, attempt } = this.#run;
    const numbers = takeNumbers(this.#numbers, family);
    const row = { threadId, runId, attempt, ...numbers, family, name, namespace, data };
    if (this.#options.isFollowed()) {
      this.flush();
      this.#append(row);
    } else this.#keep(row);
  }

  writeRow(family: EventFamily, row: { name: string; namespace: string; data: string }): void {
    this.write(family, row.name, row.namespace, row.data);
  }

  /** Sends what is kept back. */
  flush(): void {
    if (this.#kept.length === 0) return;
    for (const row of this.#takeKept()) this.#append(row);
  }

  /** Sends what is kept back, and resolves when all that was sent is stored, or cannot be. */
  async flushed(): Promise<void> {
    this.flush();
    await this.#sent();
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

  /**
   * Resolves when everything sent is durable, with what is kept back: the caller commits it. Rejects when something
   * could not be written.
   */
  async settled(): Promise<readonly EventRow[]> {
    await this.#sent();
    if (this.#failure !== undefined) throw this.#failure;
    return this.#takeKept();
  }

  #keep(row: EventRow): void {
    this.#kept.push(row);
    this.#keptLength += row.data.length;
    if (this.#kept.length > maxKept || this.#keptLength > maxKeptLength) this.flush();
    else this.#keptUntil ??= setTimeout(() => this.flush(), keepMs).unref();
  }

  #append(row: EventRow): void {
    this.#outstanding += 1;
    this.#options.events
      .append(row)
      .catch((error: unknown) => {
        if (this.#failure === undefined) this.#options.onLost(error);
        this.#failure ??= error;
      })
      .finally(() => {
        this.#outstanding -= 1;
        this.#wake?.();
      });
  }

  async #sent(): Promise<void> {
    while (this.#outstanding > 0) await this.#change();
  }

  #takeKept(): EventRow[] {
    clearTimeout(this.#keptUntil);
    this.#keptUntil = undefined;
    this.#keptLength = 0;
    return this.#kept.splice(0);
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
