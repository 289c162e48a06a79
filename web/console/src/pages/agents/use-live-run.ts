import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { followEvents } from "../../api/events.ts";
import { type AgentServer, type Run, threadKey, threadPath, threadQuery } from "./agent-api.ts";
import { type GraphActivity, noActivity, withTask } from "./graph/node-activity.ts";
import { type LiveMessages, noLiveMessages, withEvent } from "./live-messages.ts";
import { failureWords } from "./run-failure.ts";

export type LiveRun = {
  runId: string | null;
  /** False while the events of a run are shown that is known to be over: their news came late. */
  isWorking: boolean;
  live: LiveMessages;
  failure: string | null;
  /** What its nodes do and did; kept when it is over. */
  activity: GraphActivity;
  /** Whose activity that is. */
  runOf: string | null;
};

const nothingSeen = { activity: noActivity, runOf: null };

/**
 * Follows every run on the thread, no matter which client started it: the thread's own stream names a run that has
 * begun, and that run's stream is replayed from its beginning. So a reload in the middle of an answer shows all of it.
 */
export function useLiveRun(server: AgentServer, threadId: string, runs: readonly Run[] | undefined): LiveRun {
  const [live, setLive] = useState<LiveMessages>(noLiveMessages);
  const [seen, setSeen] = useState<{ activity: GraphActivity; runOf: string | null }>(nothingSeen);
  const [failure, setFailure] = useState<string | null>(null);
  const { runId, end } = useRunUnderWay(server, threadId, runs, setFailure);
  const path = threadPath(server, threadId);
  const deploymentId = server.deployment?.id;

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
        if (event === "error") setFailure(failureWords(JSON.parse(data)));
        else if (event.startsWith("tasks")) {
          const [task, now] = [JSON.parse(data) as unknown, performance.now()];
          setSeen(({ activity, runOf }) => ({ activity: withTask(activity, event, task, now), runOf }));
        } else setLive((current) => withEvent(current, event, JSON.parse(data)));
      },
    })
      .catch((error: unknown) => setFailure(failureWords(error)))
      .then(() => (stop.signal.aborted ? undefined : end(runId)));
    return () => stop.abort();
  }, [path, runId, deploymentId, end]);

  const status = runs?.find((run) => run.run_id === runId)?.status;
  const isOver = status !== undefined && status !== "running" && status !== "pending";
  return { runId, isWorking: runId !== null && !isOver, live, failure, ...seen };
}

/** Which run is under way. Its own stream says when it is over: what the thread's stream says may come before its last events. */
function useRunUnderWay(
  server: AgentServer,
  threadId: string,
  runs: readonly Run[] | undefined,
  onFailure: (words: string | null) => void,
): { runId: string | null; end(runId: string): Promise<void> } {
  const client = useQueryClient();
  const [begun, setBegun] = useState<string | null>(null);
  const runId = begun ?? runUnderWay(runs)?.run_id ?? null;
  const followed = useRef(runId);
  followed.current = runId;
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
    const key = threadKey(server, threadId);
    const atFirst = client.getQueryData(threadQuery(server, threadId).queryKey)?.updated_at;
    /** Data loaded before the stream was open may be older than a run whose events are over. */
    const catchUp = async () => {
      const { updated_at } = await client.fetchQuery({ ...threadQuery(server, threadId), staleTime: 0 });
      if (updated_at === atFirst || stop.signal.aborted) return;
      await client.cancelQueries({ queryKey: key });
      await refresh();
    };
    followEvents({
      path: `${path}/stream?stream_modes=lifecycle`,
      deploymentId,
      signal: stop.signal,
      onOpen: () => void catchUp().catch((error: unknown) => onFailure(failureWords(error))),
      onEvent({ data }) {
        const { run_id, status } = JSON.parse(data) as { run_id: string; status: string };
        if (status === "running") {
          onFailure(null);
          setBegun(run_id);
        } else if (run_id !== followed.current) void refresh();
      },
    }).catch((error: unknown) => onFailure(failureWords(error)));
    return () => stop.abort();
  }, [client, server, threadId, path, deploymentId, refresh, onFailure]);

  return { runId, end };
}

/** The active run, or the first that waits: it may have begun by the time its stream is requested. */
export function runUnderWay(runs: readonly Run[] | undefined): Run | undefined {
  return (
    runs?.find(({ status }) => status === "running") ?? runs?.findLast(({ status }) => status === "pending")
  );
}
