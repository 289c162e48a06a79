import type { Clock } from "../../platform/clock.ts";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { graceStop } from "../../platform/work/grace-stop.ts";
import { type Lease, LeaseKeeper } from "../../platform/work/lease-keeper.ts";
import { WakeLoop } from "../../platform/work/wake-loop.ts";
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
const rules = { heartbeatMs: 60_000, minWaitMs: 100 };

/**
 * Sleeps until the next due time of any cron; a change of one, here or elsewhere, wakes it earlier. A due time is taken
 * under a lease, which is renewed until its run has been started.
 */
export class CronWorker {
  readonly #options: CronWorkerOptions;
  readonly #loop: WakeLoop;
  readonly #leases: LeaseKeeper<Firing>;
  readonly #starting = new Set<Promise<void>>();
  #unlisten: Unlisten | undefined;
  #stopping = false;

  constructor(options: CronWorkerOptions) {
    this.#options = options;
    const { service, logger } = options;
    this.#loop = new WakeLoop({
      look: () => this.#look(),
      rules,
      onFailure: (error) =>
        logger.warn({ reason: errorMessage(error) }, "crons could not be checked, trying again"),
    });
    this.#leases = new LeaseKeeper({
      leaseMs: service.leaseMs,
      renewEveryMs: service.leaseMs / 3,
      renew: (firings) => service.extend(firings),
      errorOf: firingLost,
      onRenewFailed: (error) =>
        logger.warn({ reason: errorMessage(error) }, "the leases of cron firings could not be renewed"),
    });
  }

  async start(): Promise<void> {
    const wake = () => this.#loop.wake();
    this.#unlisten = await this.#options.database.listen(cronChannel, wake, wake);
    wake();
  }

  /** Lets runs that are being started begin; what has not begun is taken by another process after its lease. */
  async stop({ graceMs }: { graceMs: number }): Promise<{ interrupted: string[] }> {
    await graceStop({
      graceMs,
      stopTaking: () => {
        this.#stopping = true;
        return Promise.all([this.#unlisten?.(), this.#loop.stop()]);
      },
      underWay: () => this.#starting,
      abort: () => {
        for (const lease of this.#leases.held) lease.giveUp(firingLost(lease.subject));
        return this.#leases.held.map(({ subject }) => subject.firing_id);
      },
    });
    this.#leases.stop();
    return { interrupted: [] };
  }

  /** Everything that is due now; ends when the runs are started. */
  async fireDue(): Promise<void> {
    // A look under way may have taken something that it has not begun yet.
    await this.#loop.settled();
    await this.#takeAll();
    await Promise.all(this.#starting);
  }

  async #look(): Promise<number | null> {
    const dueInMs = await this.#dueInMs();
    if (dueInMs === null || dueInMs > 0) return dueInMs;
    await this.#takeAll();
    return this.#dueInMs();
  }

  async #dueInMs(): Promise<number | null> {
    const { database, clock } = this.#options;
    const at = await findNextWake(database);
    return at === null ? null : at.getTime() - clock.now().getTime();
  }

  async #takeAll(): Promise<void> {
    const { service } = this.#options;
    for (let taken = batch; taken === batch && !this.#stopping; ) {
      const until = this.#leases.until();
      const due = await service.takeDue(batch);
      const abandoned = await service.takeAbandoned(batch);
      for (const firing of [...due.firings, ...abandoned]) this.#begin(this.#leases.hold(firing, until));
      taken = Math.max(due.taken, abandoned.length);
    }
  }

  /** Not awaited by the look: a run that waits for its thread must not delay other crons. */
  #begin(lease: Lease<Firing>): void {
    const started = this.#fire(lease)
      .catch((error: unknown) => {
        // Its lease runs out and it is taken again.
        this.#options.logger.warn(
          { ...namesOf(lease.subject), reason: errorMessage(error) },
          "cron firing left for later",
        );
      })
      .finally(() => {
        this.#leases.drop(lease);
        this.#starting.delete(started);
      });
    this.#starting.add(started);
  }

  async #fire(lease: Lease<Firing>): Promise<void> {
    const { database, startRun, logger } = this.#options;
    const firing = lease.subject;
    try {
      if (!(await this.#hasStarted(firing))) {
        const request = toFiredRequest(firing, await this.#callerOf(firing));
        lease.require();
        await startRun(firing.cron.workspace_id, threadOf(firing), request);
      }
    } catch (error) {
      if (lease.isOver) throw error;
      const retryable = error instanceof AppError && error.retryable;
      if (retryable && firing.attempts < maxAttempts) return this.#postpone(firing, error);
      logger.error({ ...namesOf(firing), err: error }, "the run of a cron could not be started");
    }
    await deleteFiring(database.sql, firing);
  }

  /** Who made the cron, as long as that person may start runs; later the cron still runs, but not in their name. */
  async #callerOf(firing: Firing): Promise<CronCaller | null> {
    const { mayAct, logger } = this.#options;
    const { caller } = firing.cron;
    // A service is no person who could leave, and has no accounts.
    if (caller === null || caller.via === "service") return caller;
    if (!mayAct || (await mayAct(caller))) return caller;
    logger.warn(
      { ...namesOf(firing), userId: caller.userId },
      "the creator of a cron may no longer start runs in its workspace: the run acts for nobody and has no accounts",
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
    logger.warn({ ...namesOf(firing), reason: errorMessage(error), waitMs }, "the run of a cron is retried");
    await postponeFiring(database.sql, firing, new Date(clock.now().getTime() + waitMs));
    this.#loop.wake();
  }
}

function firingLost(firing: Firing): AppError {
  return new AppError({
    code: "cron.lease_lost",
    kind: "conflict",
    message: `The run of cron ${firing.cron.cron_id} due at ${firing.due_at.toISOString()} is left to another process.`,
  });
}

function namesOf(firing: Firing) {
  return { cronId: firing.cron.cron_id, dueAt: firing.due_at.toISOString(), attempt: firing.attempts };
}
