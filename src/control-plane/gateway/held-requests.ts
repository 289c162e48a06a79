import type { Stopped, Worker } from "../../platform/areas/area.ts";
import { AppError } from "../../platform/errors.ts";
import type { Target } from "./target.ts";

/** The connection of a client that waits: `close` means that it has left. */
export type Waiting = {
  readonly destroyed: boolean;
  once(event: "close", listener: () => void): unknown;
  off(event: "close", listener: () => void): unknown;
};

export type HeldRequestsOptions = {
  /** Who serves it now; asked once for all that wait. */
  find(slug: string): Promise<Target | null>;
  /** Marks the deployment as wanted; many may ask. */
  wake(deploymentId: string): Promise<void>;
  limits?: Partial<HoldLimits>;
};

type HoldLimits = {
  maxMs: number;
  perDeployment: number;
  perWorkspace: number;
  inAll: number;
  lookMs: number;
};

/** Of a request that waits nothing is read, so each costs its connection and what the system has received of it. */
const defaults: HoldLimits = {
  maxMs: 60_000,
  ...{ perDeployment: 250, perWorkspace: 500, inAll: 2_000 },
  lookMs: 1_000,
};

type Hold = {
  slug: string;
  workspaceId: string;
  waiters: Set<PromiseWithResolvers<void>>;
  /** Should every notification be lost. */
  timer: NodeJS.Timeout;
  isLooking: boolean;
  isNotified: boolean;
};

/**
 * Requests to deployments that sleep. They wait, unread, until their server takes requests. A worker, because a stop
 * waits for all requests and would wait for these, so they are notified when it begins.
 */
export class HeldRequests implements Worker {
  readonly name = "control-plane.held_requests";
  readonly #options: HeldRequestsOptions;
  readonly #limits: HoldLimits;
  readonly #holds = new Map<string, Hold>();
  #count = 0;
  #isStopped = false;

  constructor(options: HeldRequestsOptions) {
    this.#options = options;
    this.#limits = { ...defaults, ...options.limits };
  }

  get count(): number {
    return this.#count;
  }

  /** When a request that arrives now is given up. */
  deadline(): number {
    return performance.now() + this.#limits.maxMs;
  }

  /** Resolves when the deployment is worth another look, or the client has left; rejects at the deadline. */
  async until(target: Target, slug: string, deadline: number, client: Waiting | undefined): Promise<void> {
    const { deploymentId } = target;
    if (this.#isStopped) throw stopping();
    if (performance.now() >= deadline) throw stillAsleep(target);
    const known = this.#holds.get(deploymentId);
    if (this.#isFull(target)) throw tooMany(target);
    const hold = known ?? this.#open(target, slug);
    const waiter = Promise.withResolvers<void>();
    const onLeft = () => waiter.resolve();
    const timer = setTimeout(() => waiter.reject(stillAsleep(target)), deadline - performance.now());
    hold.waiters.add(waiter);
    this.#count += 1;
    client?.once("close", onLeft);
    try {
      // The first one asks; should that fail, each of the others would fail the same way.
      if (!known) void this.#begin(deploymentId, hold);
      if (!client?.destroyed) await waiter.promise;
    } finally {
      clearTimeout(timer);
      client?.off("close", onLeft);
      this.#count -= 1;
      hold.waiters.delete(waiter);
      if (hold.waiters.size === 0) this.#close(deploymentId, hold);
    }
  }

  /** Something about the deployment has changed. */
  notice(deploymentId: string): void {
    const hold = this.#holds.get(deploymentId);
    if (hold) void this.#look(deploymentId, hold);
  }

  /** Begins nothing: only requests do. */
  async start(): Promise<void> {}

  /** This gateway stops: another one may hold them, and those that would wait from now on. */
  async stop(): Promise<Stopped> {
    this.#isStopped = true;
    for (const hold of this.#holds.values()) this.#settle(hold, stopping());
    return { interrupted: [] };
  }

  /** One workspace with many deployments leaves room for the others. */
  #isFull({ deploymentId, workspaceId }: Target): boolean {
    const { perDeployment, perWorkspace, inAll } = this.#limits;
    if (this.#count >= inAll) return true;
    if ((this.#holds.get(deploymentId)?.waiters.size ?? 0) >= perDeployment) return true;
    const own = [...this.#holds.values()].filter((hold) => hold.workspaceId === workspaceId);
    return own.reduce((sum, { waiters }) => sum + waiters.size, 0) >= perWorkspace;
  }

  #open({ deploymentId, workspaceId }: Target, slug: string): Hold {
    const timer = setInterval(() => this.notice(deploymentId), this.#limits.lookMs);
    timer.unref();
    const hold = {
      ...{ slug, workspaceId },
      waiters: new Set<PromiseWithResolvers<void>>(),
      timer,
      isLooking: false,
      isNotified: false,
    };
    this.#holds.set(deploymentId, hold);
    return hold;
  }

  #close(deploymentId: string, hold: Hold): void {
    clearInterval(hold.timer);
    if (this.#holds.get(deploymentId) === hold) this.#holds.delete(deploymentId);
  }

  async #begin(deploymentId: string, hold: Hold): Promise<void> {
    try {
      await this.#options.wake(deploymentId);
    } catch (error) {
      return this.#settle(hold, error);
    }
    // It may have woken while the credential was checked; then no further notice comes.
    await this.#look(deploymentId, hold);
  }

  /** One look at a time; a change meanwhile is followed by another. */
  async #look(deploymentId: string, hold: Hold): Promise<void> {
    hold.isNotified = true;
    if (hold.isLooking) return;
    hold.isLooking = true;
    try {
      while (hold.isNotified && this.#holds.get(deploymentId) === hold) {
        hold.isNotified = false;
        const target = await this.#options.find(hold.slug);
        if (target?.rests === "asleep") await this.#options.wake(deploymentId);
        else if (!target || target.instance !== null || target.rests === "no") this.#settle(hold);
      }
    } catch (error) {
      this.#settle(hold, error);
    } finally {
      hold.isLooking = false;
    }
  }

  #settle(hold: Hold, error?: unknown): void {
    for (const waiter of hold.waiters) {
      if (error === undefined) waiter.resolve();
      else waiter.reject(error);
    }
  }
}

const comeAgain = { kind: "unavailable", headers: { "retry-after": "5" } } as const;

function stillAsleep({ name }: Target): AppError {
  return new AppError({
    ...comeAgain,
    code: "gateway.waking",
    message: `The deployment ${name} was asleep, and its server did not start within a minute. It is still being started. Try again in a moment.`,
  });
}

function tooMany({ name }: Target): AppError {
  return new AppError({
    ...comeAgain,
    code: "gateway.waking_full",
    message: `The deployment ${name} is waking up, and too many requests wait already. Try again in a moment.`,
  });
}

function stopping(): AppError {
  return new AppError({
    ...comeAgain,
    code: "gateway.stopping",
    message: "This server stops, so the request was not passed on. Send it again.",
  });
}
