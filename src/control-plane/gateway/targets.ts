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
export function createTargets({ database, openSecret }: { database: Database; openSecret: OpenSecret }) {
  const kept = new Map<string, Kept>();
  const slugs = new Map<string, string>();
  let unlisten: Unlisten | undefined;
  /** Counts what was forgotten, so that a look-up that began before it is not kept. */
  let changes = 0;

  const forget = (deploymentId: string) => {
    changes += 1;
    const slug = slugs.get(deploymentId);
    if (slug !== undefined) kept.delete(slug);
    slugs.delete(deploymentId);
  };
  const forgetAll = () => {
    changes += 1;
    kept.clear();
    slugs.clear();
  };

  return {
    async start() {
      unlisten = await database.listen(deploymentChannel, forget, forgetAll);
    },
    async stop() {
      await unlisten?.();
      forgetAll();
    },
    forget,
    async find(slug: string): Promise<Target | null> {
      const known = kept.get(slug);
      if (known && known.until > performance.now()) return known.target;
      const before = changes;
      const row = await findTarget(database.sql, slug);
      const target = row ? targetOf(row, openSecret) : null;
      if (before === changes && target !== null) {
        if (kept.size >= maxKept) forgetAll();
        const keepFor = target.instance ? keepMs : keepIdleMs;
        kept.set(slug, { target, until: performance.now() + keepFor });
        slugs.set(target.deploymentId, slug);
      }
      return target;
    },
  };
}

export type Targets = ReturnType<typeof createTargets>;
