import { fileURLToPath } from "node:url";
import type { Area } from "../platform/areas/area.ts";
import type { Caller } from "../platform/http/access/caller.ts";
import type { Logger } from "../platform/logger.ts";
import type { Assistant } from "./assistant.ts";
import { assistantRoutes } from "./assistant-routes.ts";
import { pageRoutes } from "./page-routes.ts";
import { protocolRoutes } from "./protocol-routes.ts";
import { type ChatLimits, ThreadBook } from "./thread-book.ts";
import { threadRoutes } from "./thread-routes.ts";

export type { Assistant, ChatGraph } from "./assistant.ts";

export type ChatAppOptions = {
  /** The first is the default. */
  assistants: readonly Assistant[];
  logger: Logger;
  /** What graphs may know about who started a run, as `configurable`; a client cannot set the same. */
  identify?: (caller: Caller) => Record<string, unknown>;
  limits?: Partial<ChatLimits>;
  /** Where the built page is. */
  pageFolder?: string;
};

/** `stop` ends runs and streams. What the threads held is gone with the process. */
export type ChatApp = Area;

const defaultLimits: ChatLimits = {
  maxThreads: 100,
  maxThreadBytes: 8_000_000,
  maxEvents: 20_000,
  maxEventBytes: 4_000_000,
};

/** The example application: a chat with streaming, tools, subagents and approvals over any compiled graph. */
export function createChatApp(options: ChatAppOptions): ChatApp {
  const { assistants, logger, limits, pageFolder, identify = () => ({}) } = options;
  const books = new Map<string, ThreadBook>();
  const bookOf = (workspaceId: string): ThreadBook => {
    const book = books.get(workspaceId) ?? newBook();
    books.set(workspaceId, book);
    return book;
  };
  const newBook = () => new ThreadBook({ assistants, logger, limits: { ...defaultLimits, ...limits } });
  return {
    routes: [
      ...protocolRoutes({ bookOf, identify, logger }),
      ...threadRoutes(bookOf),
      ...assistantRoutes(assistants),
      ...pageRoutes(pageFolder ?? fileURLToPath(new URL("../../web/chat/dist", import.meta.url))),
    ],
    jobHandlers: {},
    recurringJobs: [],
    workers: [],
    start: async () => {},
    async stop() {
      await Promise.all([...books.values()].map((book) => book.stop()));
    },
  };
}
