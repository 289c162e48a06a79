import type { Clock } from "../../platform/clock.ts";
import { systemClock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Route } from "../../platform/http/route.ts";
import type { AttachmentLinks } from "../attachments/attachment-links.ts";
import { createBoundedRead } from "./bounded-read.ts";
import { runQueryRoutes } from "./run-query-routes.ts";
import { runStatsRoutes } from "./run-stats-routes.ts";
import { runV2Routes, type Shares } from "./run-v2-routes.ts";
import { seenValuesRoutes } from "./seen-values-routes.ts";
import { threadRoutes } from "./thread-routes.ts";
import { threadStatsRoutes } from "./thread-stats-routes.ts";
import { traceV2Routes } from "./trace-v2-routes.ts";

export type TraceQueriesOptions = {
  database: Database;
  clock?: Clock;
  /** For the attachments of runs. */
  links: AttachmentLinks;
  timeoutMs?: number;
  publicUrl?: (() => string) | undefined;
  /** Looks up whether a trace is shared. */
  shares?: Shares;
};

const defaultTimeoutMs = 30_000;

/** Everything that reads runs: queries, single runs, trace trees and numbers. */
export function createTraceQueries(options: TraceQueriesOptions): { routes: Route[] } {
  const { database, clock = systemClock } = options;
  const read = createBoundedRead(database, options.timeoutMs ?? defaultTimeoutMs);
  return {
    routes: [
      ...runQueryRoutes({ read, clock, links: options.links }),
      ...runStatsRoutes({ read, clock }),
      ...runV2Routes({ read, clock, publicUrl: options.publicUrl, shares: options.shares }),
      ...traceV2Routes({ read, clock, publicUrl: options.publicUrl }),
      ...threadRoutes({ read, clock }),
      ...threadStatsRoutes({ read }),
      ...seenValuesRoutes({ read }),
    ],
  };
}
