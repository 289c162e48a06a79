import { setTimeout as delay } from "node:timers/promises";
import type { Stopped, Worker } from "../../platform/areas/area.ts";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { WakeLoop } from "../../platform/work/wake-loop.ts";
import { deploymentChannel } from "../desired-state/revision-store.ts";
import type { Lease, LeaseRequest } from "../listener-api/listener-wire.ts";
import type { Mirror } from "./mirror-service.ts";
import { isLeaseLost, type PlatformClient } from "./platform-client.ts";
import type { Reporter } from "./reporter.ts";

export type MirrorWorkerOptions = {
  database: Database;
  logger: Logger;
  client: PlatformClient;
  mirror: Mirror;
  reporter: Reporter;
  /** What this process says about itself. */
  introduce(): LeaseRequest;
};

const firstRetryMs = 500;
const maxRetryMs = 15_000;
/** How often is looked for log lines: nothing announces those. */
const busyMs = 1_000;
const idleMs = 5_000;

/**
 * Takes the lease on a listener, follows what the platform wants and reports. While the platform is away everything here
 * goes on as it is, and the reports wait in the database.
 */
export class MirrorWorker implements Worker {
  readonly name = "control-plane.listener";
  /** The platform is told where deployments are served. */
  readonly needsAddress = true;
  readonly #options: MirrorWorkerOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #problem: string | null = null;

  constructor(options: MirrorWorkerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#running = this.#run();
  }

  async stop(): Promise<Stopped> {
    this.#stop.abort();
    await this.#running;
    return { interrupted: [] };
  }

  async #run(): Promise<void> {
    const { client, logger } = this.#options;
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted; ) {
      try {
        const lease = await client.takeLease(this.#options.introduce(), signal);
        failures = 0;
        this.#solved("this process acts for the listener now");
        await this.#act(lease);
      } catch (error) {
        if (signal.aborted) break;
        failures += 1;
        this.#noteProblem(error);
        await this.#pause(failures);
      } finally {
        if (!signal.aborted) client.loseLease();
      }
    }
    await client.endLease().catch((error: unknown) => {
      logger.info({ reason: errorMessage(error) }, "the platform was not told that this listener stops");
    });
  }

  /** Until another process has the lease. */
  async #act(lease: Lease): Promise<void> {
    const { database, mirror, reporter } = this.#options;
    const lost = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, lost.signal]);
    const onFailure = (error: unknown) => {
      if (isLeaseLost(error)) lost.abort(error);
      else this.#noteProblem(error);
    };
    await mirror.begin(lease.epoch);
    reporter.begin(lease);
    const reports = new WakeLoop({
      rules: { heartbeatMs: null, minWaitMs: 100, firstRetryMs, maxRetryMs },
      look: async () => ((await reporter.tell()) ? busyMs : idleMs),
      onFailure,
    });
    const wake = () => reports.wake();
    const unlisten: Unlisten = await database.listen(deploymentChannel, wake, wake);
    try {
      wake();
      await this.#follow(signal, onFailure);
    } finally {
      await unlisten();
      await reports.stop();
    }
    lost.signal.throwIfAborted();
    // What was done until the stop is told before the lease ends.
    await reporter.tell().catch(onFailure);
  }

  async #follow(signal: AbortSignal, onFailure: (error: unknown) => void): Promise<void> {
    const { client, mirror } = this.#options;
    let known: string | null = null;
    for (let failures = 0; !signal.aborted; ) {
      try {
        const wanted = await client.poll(known, signal);
        this.#solved("the platform answers again");
        const complete = wanted === null || (await mirror.follow(wanted));
        if (wanted) known = complete ? wanted.version : null;
        failures = complete ? 0 : failures + 1;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        onFailure(error);
      }
      if (failures > 0) await this.#pause(failures, signal);
    }
  }

  async #pause(failures: number, signal = this.#stop.signal): Promise<void> {
    const waitMs = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(failures - 1, 10));
    await delay(waitMs * (0.75 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
  }

  /** Once, however often it is met. */
  #noteProblem(error: unknown): void {
    const reason = errorMessage(error);
    if (reason === this.#problem) return;
    this.#problem = reason;
    if (error instanceof AppError)
      this.#options.logger.warn({ reason }, "the listener waits for its platform");
    else this.#options.logger.error({ err: error }, "the listener failed, trying again");
  }

  #solved(message: string): void {
    if (this.#problem !== null) this.#options.logger.info(message);
    this.#problem = null;
  }
}
