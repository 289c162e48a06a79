import { withPersistence } from "../../src/agent-server/graphs/javascript/with-persistence.ts";
import { builtinGraphs } from "../../src/builtin-graphs/builtin-graphs.ts";
import {
  type Assistant,
  type ChatAppOptions,
  type ChatGraph,
  createChatApp,
} from "../../src/chat-app/chat-app.ts";
import { AppError } from "../../src/platform/errors.ts";
import type { Authenticator } from "../../src/platform/http/access/caller.ts";
import { createHttpApp } from "../../src/platform/http/pipeline/http-app.ts";
import { listen } from "../../src/platform/http/server/server.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { Metrics } from "../../src/platform/metrics.ts";

/** Two workspaces: the keys `first` and `second`. Without a key: the first, as on loopback. */
const authenticator: Authenticator = {
  async authenticate(headers) {
    const key = headers.get("x-api-key");
    if (key === null) return null;
    if (key === "first" || key === "second") return { ...caller, workspaceId: key };
    throw new AppError({ code: "auth.key_unknown", kind: "unauthenticated", message: "Unknown API key." });
  },
  loopbackCaller: async () => ({ ...caller, via: "loopback" }),
};

const caller = {
  organizationId: "organization",
  workspaceId: "first",
  userId: "user",
  role: "admin",
  via: "api_key",
  scopes: null,
  mayUseAccounts: true,
} as const;

export type ChatServerOptions = Partial<ChatAppOptions> & {
  /** Between two tokens; long enough to act in the middle of an answer. */
  tokenDelayMs?: number;
  agentAuthRequired?: boolean;
};

/** The built-in graphs as the chat application takes them. */
export function builtinAssistants(tokenDelayMs = 0): Assistant[] {
  return builtinGraphs().map(({ graphId, description, graph }) => ({
    assistant_id: graphId,
    name: graphId[0]!.toUpperCase() + graphId.slice(1),
    description,
    settings: { reasoning: "always", token_delay_ms: tokenDelayMs },
    withCheckpointer: (checkpointer) => withPersistence(graph, { checkpointer }) as unknown as ChatGraph,
  }));
}

/** The chat application by itself, on the platform's HTTP ground: every answer is checked against its schema. */
export async function createChatServer(options: ChatServerOptions = {}) {
  const { tokenDelayMs, agentAuthRequired = false, ...given } = options;
  const logger = createLogger({ level: "silent" });
  const assistants = given.assistants ?? builtinAssistants(tokenDelayMs);
  const chat = createChatApp({ logger, ...given, assistants });
  const http = createHttpApp({
    routes: chat.routes,
    authenticator,
    agentAuthRequired,
    logger,
    metrics: new Metrics({ processMetrics: false }),
    corsOrigins: [],
    documents: [],
    validateResponses: true,
  });
  return {
    chat,
    fetch: async (path: string, init?: RequestInit) =>
      http.fetch(new Request(new URL(path, "http://localhost"), init)),
    /** On a free port, or on one that was given before: a restart. */
    async listen(port = 0) {
      const server = await listen(http, { host: "127.0.0.1", port, logger });
      return {
        url: server.url,
        port: server.port,
        async stop() {
          await server.close({ graceMs: 0 });
          await chat.stop();
        },
      };
    },
  };
}
