import type { Clock } from "../../platform/clock.ts";
import { systemClock } from "../../platform/clock.ts";
import type { Route } from "../../platform/http/route.ts";
import type { AttachmentLinks } from "../attachments/attachment-links.ts";
import type { BoundedRead } from "../storage/bounded-read.ts";
import type { RunStorage } from "../storage/run-storage.ts";
import { runQueryRoutes } from "./run-query-routes.ts";
import { runStatsRoutes } from "./run-stats-routes.ts";
import { runV2Routes, type Shares } from "./run-v2-routes.ts";
import { seenValuesRoutes } from "./seen-values-routes.ts";
import { threadRoutes } from "./thread-routes.ts";
import { threadStatsRoutes } from "./thread-stats-routes.ts";
import { traceV2Routes } from "./trace-v2-routes.ts";

export type TraceQueriesOptions = {
  storage: Pick<RunStorage, "reading" | "statistics">;
  /** For what is not in the storage of runs: attachments and projects. */
  read: BoundedRead;
  clock?: Clock;
  /** For the attachments of runs. */
  links: AttachmentLinks;
  publicUrl?: (() => string) | undefined;
  /** Looks up whether a trace is shared. */
  shares?: Shares;
};

/** Everything that reads runs: queries, single runs, trace trees and numbers. */
export function createTraceQueries(options: TraceQueriesOptions): { routes: Route[] } {
  const { read, clock = systemClock } = options;
  const { reading: runs, statistics } = options.storage;
  return {
    routes: [
      ...runQueryRoutes({ runs, read, clock, links: options.links }),
      ...runStatsRoutes({ read, statistics, clock }),
      ...runV2Routes({ runs, clock, publicUrl: options.publicUrl, shares: options.shares }),
      ...traceV2Routes({ runs, clock, publicUrl: options.publicUrl }),
      ...threadRoutes({ runs, statistics, clock }),
      ...threadStatsRoutes({ statistics }),
      ...seenValuesRoutes({ runs }),
    ],
  };
}
