import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { followEvents } from "./events.ts";
import { reachability } from "./reachability.ts";
import { useWatched } from "./use-watched.ts";

/** What can change behind one's back. Query keys begin with one of these: `["deployments", id]`. */
export const topics = [
  "deployments",
  "exports",
  "destinations",
  "traces",
  "connections",
  "settings",
  "threads",
] as const;
export type Topic = (typeof topics)[number];

type Hint = { topic: Topic; id?: string };

/** One stream of hints for the whole console: data that is on screen and has changed is requested again. */
export function useChanges(workspaceId: string | null): void {
  const client = useQueryClient();
  const watched = useWatched();
  useEffect(() => {
    if (workspaceId === null || !watched) return;
    const stop = new AbortController();
    followEvents({
      path: `/v2/events?topics=${topics.join(",")}`,
      signal: stop.signal,
      onOpen: () => reachability.report(true),
      onBreak: () => void reachability.check(),
      onEvent({ event, data }) {
        // What was read before anybody listened may be old; what is being read is not.
        if (event === "ready") void client.invalidateQueries({}, { cancelRefetch: false });
        if (event !== "change") return;
        const { topic } = JSON.parse(data) as Hint;
        void client.invalidateQueries({ queryKey: [topic] });
      },
    }).catch((error: unknown) => {
      // Refused: the page still works, it only does not follow. A 401 has already signed out.
      console.warn("The console does not receive changes:", error);
    });
    return () => stop.abort();
  }, [client, workspaceId, watched]);
}
