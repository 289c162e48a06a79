import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useState } from "react";
import { followEvents } from "../../api/events.ts";
import { type AgentServer, type Run, threadKey, threadPath } from "./agent-api.ts";
import { type GraphActivity, noActivity, withTask } from "./graph/node-activity.ts";
import { type LiveMessages, noLiveMessages, withEvent } from "./live-messages.ts";

export type LiveRun = {
  runId: string | null;
  live: LiveMessages;
  failure: string | null;
  /** What its nodes do and did; kept when it is over. */
  activity: GraphActivity;
  /** Whose activity that is. */
  runOf: string | null;
};

const nothingSeen = { activity: noActivity, runOf: null };

/**
 * Follows whatever runs on the thread, whoever started it: the thread's own stream names the run that has begun, that run's
 * stream is replayed from its beginning. So a reload in the middle of an answer shows all of it.
 */
export function useLiveRun(server: AgentServer, threadId: string, running: Run | undefined): LiveRun {
  const client = useQueryClient();
  const [begun, setBegun] = useState<string | null>(null);
  const [live, setLive] = useState<LiveMessages>(noLiveMessages);
  const [seen, setSeen] = useState<{ activity: GraphActivity; runOf: string | null }>(nothingSeen);
  const [failure, setFailure] = useState<string | null>(null);
  const runId = begun ?? running?.run_id ?? null;
  const path = threadPath(server, threadId);
  const deploymentId = server.deployment?.id;

  const refresh = useCallback(
    () => client.invalidateQueries({ queryKey: threadKey(server, threadId) }),
    [client, server, threadId],
  );
  /** What the run left is on screen before what it streamed goes away. */
  const end = useCallback(
    async (ended: string) => {
      await refresh();
      setBegun((current) => (current === ended ? null : current));
    },
    [refresh],
  );

  useEffect(() => {
    const stop = new AbortController();
    followEvents({
      path: `${path}/stream?stream_modes=lifecycle`,
      deploymentId,
      signal: stop.signal,
      onEvent({ data }) {
        const { run_id, status } = JSON.parse(data) as { run_id: string; status: string };
        if (status === "running") {
          setFailure(null);
          setBegun(run_id);
        } else void end(run_id);
      },
      // What happened during a break is in the state.
      onBreak: () => void refresh(),
    }).catch((error: unknown) => setFailure(error instanceof Error ? error.message : String(error)));
    return () => stop.abort();
  }, [path, deploymentId, end, refresh]);

  useEffect(() => {
    setLive(noLiveMessages);
    if (runId === null) return;
    setSeen({ activity: noActivity, runOf: runId });
    const stop = new AbortController();
    followEvents({
      path: `${path}/runs/${runId}/stream`,
      deploymentId,
      lastEventId: "-1",
      endsByItself: true,
      signal: stop.signal,
      onEvent({ event, data }) {
        if (event === "error") setFailure(errorText(data));
        else if (event.startsWith("tasks")) {
          const [task, now] = [JSON.parse(data) as unknown, performance.now()];
          setSeen(({ activity, runOf }) => ({ activity: withTask(activity, event, task, now), runOf }));
        } else setLive((current) => withEvent(current, event, JSON.parse(data)));
      },
    })
      // The thread's stream says so too, except to a page that came to it after that.
      .then(() => (stop.signal.aborted ? undefined : end(runId)))
      .catch((error: unknown) => setFailure(error instanceof Error ? error.message : String(error)));
    return () => stop.abort();
  }, [path, runId, deploymentId, end]);

  return { runId, live, failure, ...seen };
}

function errorText(data: string): string {
  const { message, error } = JSON.parse(data) as { message?: string; error?: string };
  return message ?? error ?? "The run failed.";
}
