import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { Answers, Listener } from "../../api/wire.ts";

/** Places elsewhere that run deployments of this workspace. */
export function useListeners(): readonly Listener[] {
  const found = useQuery({
    queryKey: ["deployments", "listeners"],
    queryFn: ({ signal }) => api.get<Answers["list_listeners"]>("/v2/listeners?limit=100", { signal }),
  });
  return found.data?.resources ?? [];
}
