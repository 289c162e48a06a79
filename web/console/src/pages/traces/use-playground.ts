import { useCallback, useEffect, useRef, useState } from "react";
import { request } from "../../api/client.ts";
import { readEvents } from "../../api/events.ts";
import type { ChatMessage } from "../../ui/chat-message.ts";
import type { PlaygroundBody } from "./playground-call.ts";

export type PlaygroundAnswer = {
  isRunning: boolean;
  runId?: string;
  /** What has come so far; the whole message at the end. */
  text: string;
  message?: ChatMessage;
  tokens?: number;
  latencyMs?: number;
  error?: unknown;
};

type Usage = { total_tokens?: number } | null;

/** One call at a time. A broken stream is not retried automatically: each call costs. */
export function usePlayground(sourceRunId: string) {
  const [answer, setAnswer] = useState<PlaygroundAnswer>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const stop = useCallback(() => running.current?.abort(), []);
  const run = useCallback(
    async (body: PlaygroundBody) => {
      running.current?.abort();
      const control = new AbortController();
      running.current = control;
      const change = (part: Partial<PlaygroundAnswer>) =>
        setAnswer((before) =>
          running.current === control ? { isRunning: true, text: "", ...before, ...part } : before,
        );
      setAnswer({ isRunning: true, text: "" });
      let text = "";
      try {
        const sent = { ...body, source_run_id: sourceRunId };
        const response = await request("POST", "/v2/playground/stream", sent, {
          signal: control.signal,
          headers: { accept: "text/event-stream" },
        });
        for await (const { event, data } of readEvents(response)) {
          const part = JSON.parse(data) as Record<string, unknown>;
          if (event === "started") change({ runId: String(part.run_id) });
          if (event === "delta") {
            text += String(part.text);
            change({ text });
          }
          if (event === "error") change({ error: new Error(String(part.message)) });
          if (event === "message")
            change({
              message: part.message as ChatMessage,
              latencyMs: Number(part.latency_ms),
              ...((part.usage as Usage)?.total_tokens !== undefined && {
                tokens: (part.usage as Usage)!.total_tokens!,
              }),
            });
        }
      } catch (error) {
        if (!control.signal.aborted) change({ error });
      }
      change({ isRunning: false });
    },
    [sourceRunId],
  );
  return { answer, run, stop };
}
