import { fileURLToPath } from "node:url";
import type { Area } from "../platform/areas/area.ts";
import type { Logger } from "../platform/logger.ts";
import { ChangeFeed } from "./change-feed.ts";
import { changeRoutes } from "./change-routes.ts";
import type { ChangeTopics } from "./change-topic.ts";
import { pageRoutes } from "./page-routes.ts";

export type ConsoleOptions = {
  topics: ChangeTopics;
  logger: Logger;
  /** Where the page was built, when not in its own folder. */
  folder?: string | undefined;
};

/** The pages people run the platform with. They talk to the public endpoints alone. */
export function createConsole({ topics, logger, folder }: ConsoleOptions): Area {
  return {
    // The endpoints programs may use too; the pages are hidden.
    routes: changeRoutes(new ChangeFeed({ topics, logger })),
    hiddenRoutes: pageRoutes(folder ?? fileURLToPath(new URL("../../web/console/dist", import.meta.url))),
    jobHandlers: {},
    recurringJobs: [],
    workers: [],
    start: async () => {},
    stop: async () => {},
  };
}
