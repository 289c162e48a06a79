import { fileURLToPath } from "node:url";
import type { Route } from "../platform/http/route.ts";
import type { Logger } from "../platform/logger.ts";
import type { Assistant } from "./assistant.ts";
import { chatRoutes } from "./chat-routes.ts";
import { pageRoutes } from "./page-routes.ts";
import { type ChatLimits, ThreadBook } from "./thread-book.ts";

export type { Assistant, ChatGraph } from "./assistant.ts";

export type ChatAppOptions = {
  /** The first is the default. */
  assistants: readonly Assistant[];
  logger: Logger;
  limits?: Partial<ChatLimits>;
  /** Where the built page is. */
  pageFolder?: string;
};

export type ChatApp = {
  routes: Route[];
  /** Ends runs and streams. What the threads held is gone with the process. */
  stop(): Promise<void>;
};

const defaultLimits: ChatLimits = {
  maxThreads: 100,
  maxThreadBytes: 8_000_000,
  maxEvents: 20_000,
  maxEventBytes: 4_000_000,
};

/** The example application: a chat with streaming, tools, subagents and approvals over any compiled graph. */
export function createChatApp({ assistants, logger, limits, pageFolder }: ChatAppOptions): ChatApp {
  const books = new Map<string, ThreadBook>();
  const bookOf = (workspaceId: string): ThreadBook => {
    const book = books.get(workspaceId) ?? newBook();
    books.set(workspaceId, book);
    return book;
  };
  const newBook = () => new ThreadBook({ assistants, logger, limits: { ...defaultLimits, ...limits } });
  return {
    routes: [
      ...chatRoutes({ assistants, bookOf, logger }),
      ...pageRoutes(pageFolder ?? fileURLToPath(new URL("../../web/chat/dist", import.meta.url))),
    ],
    async stop() {
      await Promise.all([...books.values()].map((book) => book.stop()));
    },
  };
}
