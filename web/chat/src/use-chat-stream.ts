import { HttpAgentServerAdapter, type UseStreamOptions, useStream } from "@langchain/react";
import { useMemo } from "react";
import { apiUrl } from "./api.ts";
import { connection } from "./connection.ts";

const callerOptions = { fetch: connection.fetch as typeof fetch, maxRetries: 1 };

/** `useStream` over this application's own endpoints instead of an agent server's. */
export function useChatStream(options: {
  threadId: string | null;
  assistantId: string;
  onThreadId(threadId: string): void;
  onChanged(): void;
}) {
  const { threadId, assistantId, onThreadId, onChanged } = options;
  // biome-ignore lint/correctness/useExhaustiveDependencies: one adapter per view; it is given the id of a new thread.
  const transport = useMemo(
    () =>
      new HttpAgentServerAdapter({
        apiUrl,
        threadId: threadId ?? undefined,
        fetch: connection.fetch as typeof fetch,
        paths: {
          commands: (id) => `/threads/${id}/commands`,
          stream: (id) => `/threads/${id}/stream`,
          state: (id) => `/threads/${id}/state`,
        },
      }),
    [],
  );
  const settings = {
    transport,
    threadId,
    assistantId,
    onThreadId,
    onCreated: onChanged,
    onCompleted: onChanged,
    // For its REST client, which reads the history: through the same door.
    callerOptions,
  };
  // The types know an assistant and caller options only for agent servers; the hook itself takes them here too.
  return useStream<{ messages: unknown[] }>(settings as unknown as UseStreamOptions<{ messages: unknown[] }>);
}
