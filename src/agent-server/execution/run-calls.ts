import type { Database, Unlisten } from "../../platform/db/database.ts";
import { type CancelAction, runsChannel } from "../runs/run.ts";
import { isTurnOf } from "./run-turns.ts";

/** How long runs are left to the process whose turn it is. It may be busy, full or gone. */
const lateMs = 20;

export type RunCallsOptions = {
  database: Database;
  processId: string;
  /** The processes that take runs, in the same order for all. */
  takers(): readonly string[];
  /** Runs wait. `late`: they were another process's to take, and may be taken. */
  onWork(late: boolean): void;
  onCancel(runId: string, action: CancelAction): void;
};

/** What other processes say about runs: that some wait, and that one is to stop. */
export class RunCalls {
  readonly #options: RunCallsOptions;
  #unlisten: Unlisten | undefined;
  #late: NodeJS.Timeout | undefined;

  constructor(options: RunCallsOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { database, onWork } = this.#options;
    this.#unlisten = await database.listen(
      runsChannel,
      (payload) => this.#hear(payload),
      () => onWork(false),
    );
  }

  async stop(): Promise<void> {
    this.answered();
    await this.#unlisten?.();
  }

  /** This process asks for runs now: that answers all calls before. */
  answered(): void {
    clearTimeout(this.#late);
    this.#late = undefined;
  }

  #hear(payload: string): void {
    const { processId, takers, onWork, onCancel } = this.#options;
    const [word, subject, action] = payload.split(":");
    if (word === "cancel" && subject) onCancel(subject, action === "rollback" ? "rollback" : "interrupt");
    else if (subject === undefined || isTurnOf(processId, Number(subject), takers())) onWork(false);
    else this.#late ??= setTimeout(() => onWork(true), lateMs);
  }
}
