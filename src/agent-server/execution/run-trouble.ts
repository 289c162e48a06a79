import { databaseTrouble } from "../../platform/db/database-errors.ts";
import { WorkerLost } from "../graphs/worker-lost.ts";
import type { HandBackTrouble } from "./run-hand-back.ts";

/** What ended an attempt that is not the run's own failure. */
export function troubleOf(error: unknown): HandBackTrouble | undefined {
  if (databaseTrouble(error)) return "database";
  if (!(error instanceof WorkerLost)) return undefined;
  return error.isShared ? "neighbour_lost" : "worker_lost";
}
