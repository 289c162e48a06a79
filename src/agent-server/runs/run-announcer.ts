import type { Sql } from "../../platform/db/database.ts";

/** Announces the end of a run to the address it names. */
export type RunAnnouncer = {
  /** Refuses, before the run exists, an address that could never be reached. */
  check(url: string): Promise<void>;
  /** A run that was cancelled before it began; part of the transaction that ends it. */
  announceCancelled(tx: Sql, runId: string): Promise<void>;
};
