import type { Sql } from "../../platform/db/database.ts";

/** Tells whoever a run names of its end. */
export type RunAnnouncer = {
  /** Refuses, before the run exists, what could never be told. */
  check(url: string): Promise<void>;
  /** A run that was cancelled before it began; part of the transaction that ends it. */
  announceCancelled(tx: Sql, runId: string): Promise<void>;
};
