import type { Clock } from "../../platform/clock.ts";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { RunRequest } from "../runs/run-request.ts";
import { type CronCaller, type Firing, threadOf, toFiredRequest } from "./cron.ts";
import type { CronService } from "./cron-service.ts";
import { cronChannel, deleteFiring, findNextWake, hasRunOfFiring, postponeFiring } from "./cron-store.ts";

export type StartRun = (workspaceId: string, threadId: string, request: RunRequest) => Promise<unknown>;

/** Whether runs may still be started in this person's name. */
export type MayAct = (caller: CronCaller) => Promise<boolean>;

export type CronWorkerOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  service: CronService;
  startRun: StartRun;
  /** Left out where people do not come and go. */
  mayAct?: MayAct | undefined;
};

const batch = 50;
const maxAttempts = 8;
/** Due but not given to us means locked by another process: look again soon, not at once. */
const minWaitMs = 100;
const maxWaitMs = 3_600_000;
const retryWaitMs = 5_000;

/** Sleeps until the next due time of any cron; a change of one, here or elsewhere, wakes it earlier. */
export class CronWorker {
  readonly #options: CronWorkerOptions;
  readonly #starting = new Set<Promise<void>>();
  #unlisten: Unlisten | undefined;
  #timer: NodeJS.Timeout | undefined;
  #passing: Promise<void> | undefined;
  #again = false;
  #stopping = false;

  constructor(options: CronWorkerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const wake = () => this.wake();
    this.#unlisten = await this.#options.database.listen(cronChannel, wake, wake);
    this.wake();
  }

  /** Lets runs that are being started begin. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    await this.#unlisten?.();
    await this.#passing;
    await Promise.all(this.#starting);
  }

  wake(): void {
    if (this.#stopping) return;
    if (this.#passing) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#passing = this.#pass().finally(() => {
      this.#passing = undefined;
      if (this.#again) {
        this.#again = false;
        this.wake();
      }
    });
  }

  /** Everything that is due now; ends when the runs are started. */
  async fireDue(): Promise<void> {
    // A pass under way may have taken something that it has not begun yet.
    while (this.#passing) await this.#passing;
    await this.#takeAll();
    await Promise.all(this.#starting);
  }

  async #pass(): Promise<void> {
    const { database, clock, logger } = this.#options;
    try {
      await this.#takeAll();
      const at = await findNextWake(database.sql);
      if (at) this.#sleep(Math.max(at.getTime() - clock.now().getTime(), minWaitMs));
    } catch (error) {
      logger.warn({ reason: errorMessage(error) }, "crons could not be looked at, trying again");
      this.#sleep(retryWaitMs);
    }
  }

  async #takeAll(): Promise<void> {
    const { service } = this.#options;
    for (let taken = batch; taken === batch && !this.#stopping; ) {
      const due = await service.takeDue(batch);
      const abandoned = await service.takeAbandoned(batch);
      for (const firing of [...due.firings, ...abandoned]) this.#begin(firing);
      taken = Math.max(due.taken, abandoned.length);
    }
  }

  #sleep(waitMs: number): void {
    if (this.#stopping) return;
    this.#timer = setTimeout(() => this.wake(), Math.min(Math.ceil(waitMs), maxWaitMs));
    this.#timer.unref();
  }

  /** Not awaited by the pass: a run that waits for its thread must not hold up other crons. */
  #begin(firing: Firing): void {
    const started = this.#fire(firing).catch((error: unknown) => {
      // Its lease runs out and it is taken again.
      this.#options.logger.warn(
        { ...namesOf(firing), reason: errorMessage(error) },
        "cron firing left for later",
      );
    });
    this.#starting.add(started);
    void started.finally(() => this.#starting.delete(started));
  }

  async #fire(firing: Firing): Promise<void> {
    const { database, startRun, logger } = this.#options;
    try {
      if (!(await this.#hasStarted(firing))) {
        const request = toFiredRequest(firing, await this.#callerOf(firing));
        await startRun(firing.cron.workspace_id, threadOf(firing), request);
      }
    } catch (error) {
      const retryable = error instanceof AppError && error.retryable;
      if (retryable && firing.attempts < maxAttempts) return this.#postpone(firing, error);
      logger.error({ ...namesOf(firing), err: error }, "the run of a cron could not be started");
    }
    await deleteFiring(database.sql, firing.firing_id);
  }

  /** Who made the cron, as long as that person may start runs; its work goes on without them, but not in their name. */
  async #callerOf(firing: Firing): Promise<CronCaller | null> {
    const { mayAct, logger } = this.#options;
    const { caller } = firing.cron;
    // A service is no person who could leave, and has no accounts.
    if (caller === null || caller.via === "service") return caller;
    if (!mayAct || (await mayAct(caller))) return caller;
    logger.warn(
      { ...namesOf(firing), userId: caller.userId },
      "whoever made a cron may not start runs in its workspace any more: its run acts for nobody and has no accounts",
    );
    return null;
  }

  /** The process that took it may have died after it had started the run. */
  async #hasStarted(firing: Firing): Promise<boolean> {
    if (firing.attempts === 1) return false;
    return hasRunOfFiring(this.#options.database.sql, threadOf(firing), firing.firing_id);
  }

  async #postpone(firing: Firing, error: unknown): Promise<void> {
    const { database, clock, logger } = this.#options;
    const waitMs = 1_000 * 2 ** firing.attempts;
    logger.warn(
      { ...namesOf(firing), reason: errorMessage(error), waitMs },
      "the run of a cron is tried again",
    );
    await postponeFiring(database.sql, firing.firing_id, new Date(clock.now().getTime() + waitMs));
    this.wake();
  }
}

function namesOf(firing: Firing) {
  return { cronId: firing.cron.cron_id, dueAt: firing.due_at.toISOString(), attempt: firing.attempts };
}
