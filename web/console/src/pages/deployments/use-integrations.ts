import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";

export type Integration = { id: string; name: string };

export function useIntegrations(): readonly Integration[] {
  const found = useQuery({
    queryKey: ["deployments", "integrations"],
    queryFn: ({ signal }) => api.get<Integration[]>("/v2/integrations/github/installations", { signal }),
  });
  return found.data ?? [];
}
