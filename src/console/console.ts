import { fileURLToPath } from "node:url";
import type { Area } from "../platform/areas/area.ts";
import type { Logger } from "../platform/logger.ts";
import { ChangeFeed } from "./change-feed.ts";
import { changeRoutes } from "./change-routes.ts";
import type { ChangeTopics } from "./change-topic.ts";
import { nowherePage, pageRoutes } from "./page-routes.ts";
import { playgroundRoutes } from "./playground-routes.ts";
import { Playground, type PlaygroundPorts } from "./playground-service.ts";
import type { Finder } from "./search.ts";
import { searchRoutes } from "./search-routes.ts";

export type ConsoleOptions = {
  topics: ChangeTopics;
  finders: readonly Finder[];
  playground: PlaygroundPorts;
  logger: Logger;
  /** Where the page was built, when not in its own folder. */
  folder?: string | undefined;
};

/** The pages people run the platform with. They talk to the public endpoints alone. */
export function createConsole(options: ConsoleOptions): Area & { nowherePage(): Promise<Response> } {
  const { topics, logger } = options;
  const folder = options.folder ?? fileURLToPath(new URL("../../web/console/dist", import.meta.url));
  return {
    nowherePage: () => nowherePage(folder),
    // The endpoints programs may use too; the pages are hidden.
    routes: [
      ...changeRoutes(new ChangeFeed({ topics, logger })),
      ...searchRoutes(options.finders),
      ...playgroundRoutes(new Playground(options.playground)),
    ],
    hiddenRoutes: pageRoutes(folder),
    jobHandlers: {},
    recurringJobs: [],
    workers: [],
    start: async () => {},
    stop: async () => {},
  };
}
