import { HttpAgentServerAdapter, type UseStreamOptions, useStream } from "@langchain/react";
import { useMemo } from "react";
import type { ChatServer } from "./servers/chat-server.ts";

/** `useStream` over the endpoints of one server. */
export function useChatStream(options: {
  server: ChatServer;
  threadId: string | null;
  assistantId: string;
  onThreadId(threadId: string): void;
  onCreated(): void;
  onChanged(): void;
}) {
  const { server, threadId, assistantId, onThreadId, onCreated, onChanged } = options;
  // biome-ignore lint/correctness/useExhaustiveDependencies: one adapter per view; it is given the id of a new thread.
  const { transport, callerOptions } = useMemo(() => {
    const send = withoutThePast(server, threadId);
    return {
      transport: new HttpAgentServerAdapter({
        apiUrl: server.apiUrl,
        threadId: threadId ?? undefined,
        fetch: send,
        paths: {
          commands: (id) => `/threads/${id}/commands`,
          stream: server.streamPath,
          state: (id) => `/threads/${id}/state`,
        },
      }),
      // For its REST client, which reads the history: through the same door.
      callerOptions: { fetch: server.fetch, maxRetries: 1 },
    };
  }, []);
  const settings = {
    transport,
    threadId,
    assistantId,
    onThreadId,
    onCreated,
    onCompleted: onChanged,
    callerOptions,
  };
  // The types know an assistant and caller options only for agent servers; the hook itself takes them here too.
  return useStream<{ messages: unknown[] }>(settings as unknown as UseStreamOptions<{ messages: unknown[] }>);
}

type Subscription = { since?: number; namespaces?: string[][] };

/**
 * `useStream` reads the state first and then asks for every event the thread ever had. Those of a branch that was left
 * would bring its messages back, so the subscriptions to the whole thread begin after them.
 */
function withoutThePast(server: ChatServer, threadId: string | null): typeof fetch {
  if (threadId === null) return server.fetch;
  const after = server.replayAfter(threadId);
  after.catch(() => undefined);
  return async (input, init) => {
    if (!String(input).endsWith(server.streamPath(threadId)) || typeof init?.body !== "string") {
      return server.fetch(input, init);
    }
    const body = JSON.parse(init.body) as Subscription;
    const isWhole = !body.namespaces || body.namespaces.some((prefix) => prefix.length === 0);
    const since = isWhole ? await after : undefined;
    if (since === undefined || (body.since ?? 0) >= since) return server.fetch(input, init);
    return server.fetch(input, { ...init, body: JSON.stringify({ ...body, since }) });
  };
}
