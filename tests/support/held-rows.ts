import type { Database, Sql } from "../../src/platform/db/database.ts";
import type { RawBuilder } from "../../src/platform/db/raw.ts";

/** Locks what a statement locks until it is told to let go: whoever wants to change that waits. */
export async function holdRows(
  database: Database,
  locking: RawBuilder<unknown>,
): Promise<{ letGo(): Promise<void> }> {
  const held = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const holding = database.transaction(async (tx: Sql) => {
    await locking.execute(tx);
    held.resolve();
    await over.promise;
  });
  await Promise.race([held.promise, holding]);
  return {
    async letGo() {
      over.resolve();
      await holding;
    },
  };
}
