import type { Clock } from "../../platform/clock.ts";
import { systemClock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Route } from "../../platform/http/route.ts";
import { runQueryRoutes } from "./run-query-routes.ts";
import { runStatsRoutes } from "./run-stats-routes.ts";
import { runV2Routes } from "./run-v2-routes.ts";

export type TraceQueriesOptions = { database: Database; clock?: Clock };

/** Everything that reads runs: queries, single runs, trace trees and numbers. */
export function createTraceQueries({ database, clock = systemClock }: TraceQueriesOptions): {
  routes: Route[];
} {
  return {
    routes: [
      ...runQueryRoutes({ database }),
      ...runStatsRoutes({ database, clock }),
      ...runV2Routes({ database, clock }),
    ],
  };
}
