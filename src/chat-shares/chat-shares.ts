import type { Area } from "../platform/areas/area.ts";
import type { Database } from "../platform/db/database.ts";
import { shareRoutes } from "./share-routes.ts";
import { ShareService } from "./share-service.ts";

/** Conversations of the chat page that others may read by a link. */
export function createChatShares(database: Database): Area {
  return {
    routes: shareRoutes(new ShareService({ database })),
    jobHandlers: {},
    recurringJobs: [],
    workers: [],
    start: async () => {},
    stop: async () => {},
  };
}
