import { useQuery } from "@tanstack/react-query";
import { api } from "./client.ts";
import type { Answers } from "./wire.ts";

/** Under that of deployments, whose forms choose from them. */
export const listenersKey = ["deployments", "listeners"];
/** A listener that goes away announces nothing. */
const lookMs = 10_000;

/** Places elsewhere that run deployments of this workspace. */
export function useListeners() {
  return useQuery({
    queryKey: listenersKey,
    refetchInterval: lookMs,
    queryFn: ({ signal }) => api.get<Answers["list_listeners"]>("/v2/listeners?limit=100", { signal }),
  });
}
