import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { ApiError, api } from "../../api/client.ts";
import { toast } from "../../ui/index.ts";
import type { Provider } from "./connections-api.ts";

/** Creates a provider and leads to its page; the server's messages about single fields are kept apart from the rest. */
export function useNewProvider(path = "/v2/auth/providers") {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const create = useMutation({
    mutationFn: (body: Record<string, unknown>) => api.post<Provider>(path, body),
    onSuccess: async (provider) => {
      toast.good(`${provider.name} is ready: people can connect their accounts.`);
      await client.invalidateQueries({ queryKey: ["connections"] });
      navigate(`/connections/providers/${encodeURIComponent(provider.provider_id)}`);
    },
  });
  const fields = create.error instanceof ApiError ? create.error.fields : {};
  return {
    create: create.mutate,
    busy: create.isPending,
    fields,
    error: Object.keys(fields).length === 0 ? create.error : null,
  };
}

/** As the server wants ids: they are part of an address. */
export function wrongProviderId(id: string): string | null {
  return /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id)
    ? null
    : "Use letters, digits, dots, dashes and underscores.";
}
