import type { Database, Unlisten } from "../../platform/db/database.ts";
import { deploymentChannel } from "../desired-state/revision-store.ts";
import { type OpenSecret, type Target, targetOf } from "./target.ts";
import { findTarget } from "./target-store.ts";

/** Where nothing serves, the answer may change without a word (a restart), so it is not kept for long. */
const keepIdleMs = 200;
const keepMs = 30_000;
const maxKept = 10_000;

type Kept = { target: Target | null; until: number };

/** Who serves which address. Kept in memory until something about the deployment changes. */
export class Targets {
  readonly #database: Database;
  readonly #openSecret: OpenSecret;
  readonly #kept = new Map<string, Kept>();
  readonly #slugs = new Map<string, string>();
  #unlisten: Unlisten | undefined;
  /** Counts what was forgotten, so that a look-up that began before it is not kept. */
  #changes = 0;

  constructor({ database, openSecret }: { database: Database; openSecret: OpenSecret }) {
    this.#database = database;
    this.#openSecret = openSecret;
  }

  async start(): Promise<void> {
    this.#unlisten = await this.#database.listen(
      deploymentChannel,
      (deploymentId) => this.forget(deploymentId),
      () => this.#forgetAll(),
    );
  }

  async stop(): Promise<void> {
    await this.#unlisten?.();
    this.#forgetAll();
  }

  forget(deploymentId: string): void {
    this.#changes += 1;
    const slug = this.#slugs.get(deploymentId);
    if (slug !== undefined) this.#kept.delete(slug);
    this.#slugs.delete(deploymentId);
  }

  async find(slug: string): Promise<Target | null> {
    const known = this.#kept.get(slug);
    if (known && known.until > performance.now()) return known.target;
    const before = this.#changes;
    const row = await findTarget(this.#database.sql, slug);
    const target = row ? targetOf(row, this.#openSecret) : null;
    if (before === this.#changes && target !== null) {
      if (this.#kept.size >= maxKept) this.#forgetAll();
      const keepFor = target.instance ? keepMs : keepIdleMs;
      this.#kept.set(slug, { target, until: performance.now() + keepFor });
      this.#slugs.set(target.deploymentId, slug);
    }
    return target;
  }

  #forgetAll(): void {
    this.#changes += 1;
    this.#kept.clear();
    this.#slugs.clear();
  }
}
