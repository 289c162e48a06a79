import type { Database, Unlisten } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { deploymentChannel } from "../desired-state/revision-store.ts";
import { type OpenSecret, type Target, targetOf } from "./target.ts";
import { findTarget } from "./target-store.ts";

export type TargetsOptions = {
  database: Database;
  openSecret: OpenSecret;
  /** Whether servers are stopped only after this gateway has heard of it, so that what it remembers may be used. */
  isPresent(): boolean;
  enter(): Promise<void>;
  /** A deployment has changed: what waits for it may go on. */
  onChange?(deploymentId: string): void;
};

/** If nothing serves, the answer may change without a notification (a restart), so it is not kept for long. */
const keepIdleMs = 200;
/** Shorter than the time a replaced server is kept running, should every notification be lost. */
const keepMs = 8_000;
/** While the database is away. */
const askAgainMs = 1_000;
const maxKept = 10_000;
const maxLooks = 3;

/** `until` 0: forgotten, and used only if the database cannot be asked. */
type Kept = {
  target: Target;
  until: number;
  /** It may serve no more, so the database is asked before it is used, even one that was away a moment ago. */
  isDoubted: boolean;
};

/** Who serves which address. Kept in memory until something about the deployment changes. */
export class Targets {
  readonly #options: TargetsOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #slugs = new Map<string, string>();
  #unlisten: Unlisten | undefined;
  /** Counts what was forgotten, so that a look-up that began before it is not kept. */
  #changes = 0;
  /**
   * Set while the database is away, for all of them: what is known is used at once, and the database is asked again beside it.
   * Nobody stops a server meanwhile.
   */
  #askAgainAt: number | undefined;

  constructor(options: TargetsOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#unlisten = await this.#options.database.listen(
      deploymentChannel,
      (deploymentId) => this.forget(deploymentId),
      () => this.forgetAll(),
    );
  }

  async stop(): Promise<void> {
    await this.#unlisten?.();
    this.#clear();
  }

  forget(deploymentId: string): void {
    this.#forget(deploymentId);
    this.#options.onChange?.(deploymentId);
  }

  #forget(deploymentId: string): void {
    this.#changes += 1;
    const slug = this.#slugs.get(deploymentId);
    const kept = slug === undefined ? undefined : this.#kept.get(slug);
    if (!kept) return;
    kept.until = 0;
    kept.isDoubted = true;
  }

  forgetAll(): void {
    this.#changes += 1;
    this.#askAgainAt = undefined;
    for (const kept of this.#kept.values()) kept.until = 0;
  }

  async find(slug: string): Promise<Target | null> {
    const known = this.#kept.get(slug);
    if (known && this.#isUsable(known)) return known.target;
    if (known && this.#isAllThereIs(known)) {
      this.#askBeside(slug);
      return known.target;
    }
    try {
      return await this.#ask(slug);
    } catch (error) {
      if (!known || !isAway(error)) throw error;
      known.isDoubted = false;
      return known.target;
    }
  }

  /** Whether a target that was found a moment ago is still what would be found now. */
  isCurrent(slug: string, target: Target): boolean {
    const kept = this.#kept.get(slug);
    return kept?.target === target && (this.#isUsable(kept) || this.#isAllThereIs(kept));
  }

  /** Notes whether the database answers. */
  async #ask(slug: string): Promise<Target | null> {
    try {
      const target = await this.#look(slug);
      this.#askAgainAt = undefined;
      return target;
    } catch (error) {
      this.#askAgainAt = isAway(error) ? performance.now() + askAgainMs : undefined;
      throw error;
    }
  }

  /** Nobody waits for it. If it fails, the next request finds the same error. */
  #askBeside(slug: string): void {
    if (this.#askAgainAt === undefined || performance.now() < this.#askAgainAt) return;
    // One at a time.
    this.#askAgainAt = Number.POSITIVE_INFINITY;
    void this.#ask(slug).catch(() => undefined);
  }

  async #look(slug: string): Promise<Target | null> {
    const { database, openSecret, enter } = this.#options;
    for (let looks = 1; ; looks += 1) {
      await enter();
      const before = this.#changes;
      const row = await findTarget(database.sql, slug);
      const target = row ? targetOf(row, openSecret) : null;
      // Something changed meanwhile, this deployment perhaps.
      if (before !== this.#changes && looks < maxLooks) continue;
      if (before === this.#changes) this.#keep(slug, target);
      return target;
    }
  }

  #keep(slug: string, target: Target | null): void {
    if (target === null) {
      this.#kept.delete(slug);
      return;
    }
    if (this.#kept.size >= maxKept) this.#clear();
    const keepFor = target.instance ? keepMs : keepIdleMs;
    this.#kept.set(slug, { target, until: performance.now() + keepFor, isDoubted: false });
    this.#slugs.set(target.deploymentId, slug);
  }

  #isUsable({ until }: Kept): boolean {
    return until > performance.now() && this.#options.isPresent();
  }

  #isAllThereIs({ isDoubted }: Kept): boolean {
    return this.#askAgainAt !== undefined && !isDoubted;
  }

  #clear(): void {
    this.#changes += 1;
    this.#kept.clear();
    this.#slugs.clear();
  }
}

function isAway(error: unknown): boolean {
  return error instanceof AppError && error.retryable;
}
