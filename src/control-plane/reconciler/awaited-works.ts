import type { Logger } from "../../platform/logger.ts";
import { type MonotonicClock, monotonicClock } from "../../platform/monotonic-clock.ts";
import { Turns } from "../builds/turns.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import type { AwaitedWork } from "../desired-state/sleep.ts";
import { unknownMs } from "./sleep-plan.ts";

export type AwaitedWorksOptions = {
  /** Asks the deployment's own database; null: it does not tell, and why. */
  read(deployment: Deployment, told: { onUnknown(reason: string): void }): Promise<AwaitedWork | null>;
  logger: Logger;
  monotonic?: MonotonicClock;
};

/** Each is a connection to the database server, which all deployments share. */
const atOnce = 4;
/** One that nobody has asked about for so long is forgotten. */
const forgetMs = 6 * unknownMs;

/** What deployments wait for, a few at a time. */
export class AwaitedWorks {
  readonly #options: AwaitedWorksOptions;
  readonly #clock: MonotonicClock;
  readonly #turns = new Turns(atOnce);
  /** Those whose database did not tell, and when it was asked. */
  readonly #unknown = new Map<string, number>();
  #stop = new AbortController();

  constructor(options: AwaitedWorksOptions) {
    this.#options = options;
    this.#clock = options.monotonic ?? monotonicClock;
  }

  /** Null: it is not known. Of one that is awake, as long as it was not known a while ago. */
  async of(deployment: Deployment): Promise<AwaitedWork | null> {
    const { id, sleep_state: state } = deployment;
    const askedAt = this.#unknown.get(id);
    if (state === "awake" && askedAt !== undefined && this.#clock.now() - askedAt < unknownMs) return null;
    const { signal } = this.#stop;
    try {
      return await this.#turns.run(signal, () => this.#read(deployment));
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  }

  /** Questions that still wait for their turn get the answer "not known". */
  stop(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
  }

  async #read(deployment: Deployment): Promise<AwaitedWork | null> {
    const { id } = deployment;
    let why: string | undefined;
    const work = await this.#options.read(deployment, {
      onUnknown: (reason) => {
        why = reason;
      },
    });
    if (work) this.#unknown.delete(id);
    else this.#note(id, why);
    return work;
  }

  #note(deploymentId: string, reason: string | undefined): void {
    const now = this.#clock.now();
    const level = this.#unknown.has(deploymentId) ? "debug" : "warn";
    const facts = { deployment: deploymentId, reason };
    this.#options.logger[level](facts, "what a deployment waits for could not be read");
    for (const [id, askedAt] of this.#unknown) if (now - askedAt > forgetMs) this.#unknown.delete(id);
    this.#unknown.set(deploymentId, now);
  }
}
