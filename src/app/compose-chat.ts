import { platformUserConfigurable } from "../agent-server/auth/platform-user.ts";
import { withPersistence } from "../agent-server/graphs/javascript/with-persistence.ts";
import type { BuiltinGraph } from "../builtin-graphs/builtin-graphs.ts";
import {
  type ChatApp,
  type Assistant as ChatAssistant,
  type ChatGraph,
  createChatApp,
} from "../chat-app/chat-app.ts";
import type { Logger } from "../platform/logger.ts";

/** The example chat over the built-in graphs: with its own checkpointer, slow enough to be watched. */
export function composeChat(logger: Logger, graphs: readonly BuiltinGraph[]): ChatApp {
  return createChatApp({
    logger,
    assistants: graphs.map(chatAssistant),
    identify: platformUserConfigurable,
  });
}

function chatAssistant({ graphId, description, graph }: BuiltinGraph): ChatAssistant {
  return {
    assistant_id: graphId,
    name: graphId[0]!.toUpperCase() + graphId.slice(1),
    description,
    settings: { reasoning: "always", token_delay_ms: 15 },
    withCheckpointer: (checkpointer) => withPersistence(graph, { checkpointer }) as unknown as ChatGraph,
  };
}
