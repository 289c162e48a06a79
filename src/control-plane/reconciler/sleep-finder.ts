import type { AwaitedWorks } from "./awaited-works.ts";
import type { Observed } from "./plan.ts";
import {
  idleServer,
  isSleepCandidate,
  needsWork,
  noSleepFacts,
  restsFrom,
  type SleepFacts,
} from "./sleep-plan.ts";

export type SleepFinderOptions = {
  /** The last request to a deployment since then, through any gateway. */
  usedAt(deploymentId: string, since: Date): Promise<Date | null>;
  /** Whether a gateway has requests at a server. */
  isHeld(instanceId: string): Promise<boolean>;
  works: AwaitedWorks;
};

/** Looks up what is needed to decide about sleep, cheapest first, and no more: of most deployments nothing. */
export class SleepFinder {
  readonly #options: SleepFinderOptions;

  constructor(options: SleepFinderOptions) {
    this.#options = options;
  }

  async find(seen: Omit<Observed, "sleep">): Promise<SleepFacts> {
    const { deployment } = seen;
    const isRunning = deployment.deleted_at === null && deployment.desired_state === "running";
    if (!isRunning || deployment.sleep_state === "waking") return noSleepFacts;
    const facts = deployment.sleep_state === "awake" ? await this.#use(seen) : noSleepFacts;
    const work = needsWork(seen, facts) ? await this.#options.works.of(deployment) : undefined;
    return { ...facts, work };
  }

  /** What is being looked up ends soon. */
  stop(): void {
    this.#options.works.stop();
  }

  async #use(seen: Omit<Observed, "sleep">): Promise<SleepFacts> {
    if (!isSleepCandidate(seen)) return noSleepFacts;
    // As long as its server has not run for that time, its use does not matter.
    if (restsFrom(seen, null) > seen.now) return noSleepFacts;
    const since = new Date(seen.now.getTime() - (seen.limits.sleepAfterMs ?? 0));
    const usedAt = await this.#options.usedAt(seen.deployment.id, since);
    if (restsFrom(seen, usedAt) > seen.now) return { ...noSleepFacts, usedAt };
    return { ...noSleepFacts, usedAt, isHeld: await this.#options.isHeld(idleServer(seen)!.id) };
  }
}
