import type { Database, Unlisten } from "../../platform/db/database.ts";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { domainChannel, readServed } from "./domain-store.ts";

/** How old the cached domains may be when they are used; a notification of a change comes long before. */
const keepMs = 60_000;

export type DomainTableOptions = { database: Database; logger: Logger };

/**
 * Which deployment is served at which domain, all of them in memory. An installation has few, and requests for
 * unknown hosts then cost no query.
 */
export class DomainTable {
  readonly #options: DomainTableOptions;
  #slugs = new Map<string, string>();
  #readAt = Number.NEGATIVE_INFINITY;
  /** One read after the other, so that none is overtaken by an older one. */
  #work: Promise<void> = Promise.resolve();
  /** A read of all that has not begun yet: it will see everything committed until now. */
  #isQueued = false;
  #unlisten: Unlisten | undefined;

  constructor(options: DomainTableOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { database } = this.#options;
    this.#unlisten = await database.listen(
      domainChannel,
      (domain) => void this.#noting(this.refresh(domain)),
      () => this.#readAgain(),
    );
    await this.#readAll();
  }

  async stop(): Promise<void> {
    await this.#unlisten?.();
    this.#unlisten = undefined;
    await this.#work;
    this.#slugs.clear();
  }

  /** `hostname` in lower case, as it is stored. */
  slugOf(hostname: string): string | null {
    if (this.#unlisten !== undefined && performance.now() - this.#readAt > keepMs) this.#readAgain();
    return this.#slugs.get(hostname) ?? null;
  }

  domainsOf(slug: string): string[] {
    return [...this.#slugs].filter(([, served]) => served === slug).map(([domain]) => domain);
  }

  /** Reads one again: when it resolves, what was committed before is in force here. */
  refresh(domain: string): Promise<void> {
    return this.#inTurn(async () => {
      const [served] = await readServed(this.#options.database.sql, domain);
      if (served) this.#slugs.set(domain, served.slug);
      else this.#slugs.delete(domain);
    });
  }

  #readAgain(): void {
    if (this.#isQueued) return;
    this.#isQueued = true;
    void this.#noting(this.#readAll());
  }

  #readAll(): Promise<void> {
    return this.#inTurn(async () => {
      this.#isQueued = false;
      // Also when it fails: the next attempt is then as far away.
      this.#readAt = performance.now();
      const served = await readServed(this.#options.database.sql);
      this.#slugs = new Map(served.map(({ domain, slug }) => [domain, slug]));
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work);
    // The caller that started the read gets the failure; the next one does not.
    this.#work = done.catch(() => undefined);
    return done;
  }

  #noting(work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => {
      // Read again at the next request.
      this.#readAt = Number.NEGATIVE_INFINITY;
      this.#options.logger.warn(
        { reason: errorMessage(error) },
        "the domains of deployments could not be read",
      );
    });
  }
}
