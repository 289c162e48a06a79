import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { followEvents } from "../../api/events.ts";
import { type AgentServer, type Run, threadKey, threadPath } from "./agent-api.ts";
import { type LiveMessages, noLiveMessages, withEvent } from "./live-messages.ts";

export type LiveRun = { runId: string | null; live: LiveMessages; failure: string | null };

/**
 * Follows whatever runs on the thread, whoever started it: the thread's own stream names the run that has begun, that run's
 * stream is replayed from its beginning. So a reload in the middle of an answer shows all of it.
 */
export function useLiveRun(server: AgentServer, threadId: string, running: Run | undefined): LiveRun {
  const client = useQueryClient();
  const [begun, setBegun] = useState<string | null>(null);
  const [live, setLive] = useState<LiveMessages>(noLiveMessages);
  const [failure, setFailure] = useState<string | null>(null);
  const runId = begun ?? running?.run_id ?? null;
  const path = threadPath(server, threadId);
  const deploymentId = server.deployment?.id;

  useEffect(() => {
    const stop = new AbortController();
    const refresh = () => client.invalidateQueries({ queryKey: threadKey(server, threadId) });
    followEvents({
      path: `${path}/stream?stream_modes=lifecycle`,
      deploymentId,
      signal: stop.signal,
      onEvent({ data }) {
        const { run_id, status } = JSON.parse(data) as { run_id: string; status: string };
        if (status === "running") {
          setFailure(null);
          setBegun(run_id);
        } else {
          // What the run left is on screen before what it streamed goes away.
          void refresh().then(() => {
            setBegun((current) => (current === run_id ? null : current));
          });
        }
      },
      // What happened during a break is in the state.
      onBreak: () => void refresh(),
    }).catch((error: unknown) => setFailure(error instanceof Error ? error.message : String(error)));
    return () => stop.abort();
  }, [client, server, threadId, path, deploymentId]);

  useEffect(() => {
    setLive(noLiveMessages);
    if (runId === null) return;
    const stop = new AbortController();
    followEvents({
      path: `${path}/runs/${runId}/stream`,
      deploymentId,
      lastEventId: "-1",
      endsByItself: true,
      signal: stop.signal,
      onEvent({ event, data }) {
        if (event === "error") setFailure(errorText(data));
        else setLive((current) => withEvent(current, event, JSON.parse(data)));
      },
    }).catch((error: unknown) => setFailure(error instanceof Error ? error.message : String(error)));
    return () => stop.abort();
  }, [path, runId, deploymentId]);

  return { runId, live, failure };
}

function errorText(data: string): string {
  const { message, error } = JSON.parse(data) as { message?: string; error?: string };
  return message ?? error ?? "The run failed.";
}
