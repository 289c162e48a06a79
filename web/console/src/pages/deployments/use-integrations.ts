import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { GitInstallation } from "../../api/wire.ts";

export type Integration = GitInstallation;

export function useIntegrations(): readonly Integration[] {
  const found = useQuery({
    queryKey: ["deployments", "integrations"],
    queryFn: ({ signal }) => api.get<Integration[]>("/v2/integrations/github/installations", { signal }),
  });
  return found.data ?? [];
}
