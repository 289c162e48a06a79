import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";

export type Provider = {
  id: string;
  provider_id: string;
  name: string;
  client_id: string;
  auth_url: string;
  token_url: string;
  revocation_url: string | null;
  uses_pkce: boolean;
  token_endpoint_auth_method: string | null;
  mcp_server_url: string | null;
  is_dynamic_client: boolean;
  default_redirect_uri: string;
  created_at: string;
  updated_at: string;
};

export type Template = {
  id: string;
  name: string;
  token_url: string;
  setup_url: string;
  default_redirect_uri: string;
  example_scopes: string[];
  notes: string[];
};

export type Account = {
  id: string;
  provider_id: string;
  provider_account_label: string | null;
  scopes: string[];
  expires_at: string | null;
  is_default: boolean;
  created_at: string;
  status: "active" | "dead";
  refreshes: boolean;
  agent_id: string | null;
  user_id: string | null;
};

/** A consent somebody asked for and nobody has given yet. */
export type OpenConsent = {
  auth_id: string;
  provider_id: string;
  scopes: string[];
  agent_id: string | null;
  user_id: string | null;
  for_agent: boolean;
  created_at: string;
  expires_at: string;
  url: string;
};

export type ConsentState = {
  status: "pending" | "completed" | "failed" | "expired";
  failure: string | null;
};

export type TokenEvent = {
  id: string;
  provider_id: string;
  agent_id: string | null;
  event_type: string;
  source: string | null;
  provider_account_label: string | null;
  detail: string | null;
  acknowledged_at: string | null;
  created_at: string;
};

/** The server's hints say "connections" when any of this has changed. */
function useList<Item>(name: string, path: string, enabled = true) {
  return useQuery({
    queryKey: ["connections", name],
    queryFn: ({ signal }) => api.get<Item[]>(path, { signal }),
    enabled,
  });
}

export const useProviders = () => useList<Provider>("providers", "/v2/auth/providers");
export const usePlatformProviders = () => useList<Provider>("platform", "/v2/auth/platform-providers");
export const useTemplates = () => useList<Template>("templates", "/v2/auth/provider-templates");
export const useAccounts = () => useList<Account>("accounts", "/v2/auth/tokens");
export const useOpenConsents = (enabled: boolean) =>
  useList<OpenConsent>("consents", "/v2/auth/authorizations", enabled);
export const useTokenEvents = () => useList<TokenEvent>("events", "/v2/auth/token-events?limit=200");

/** Those of the workspace and those of the platform, as people choose among them: its own comes first. */
export function useAllProviders() {
  const own = useProviders();
  const platform = usePlatformProviders();
  const mine = own.data ?? [];
  const names = new Set(mine.map(({ provider_id }) => provider_id));
  const shared = (platform.data ?? []).filter(({ provider_id }) => !names.has(provider_id));
  const all = [...mine, ...shared];
  return {
    own: mine,
    platform: shared,
    all,
    data: all.length > 0 ? all : undefined,
    isPending: own.isPending || platform.isPending,
    error: own.error ?? platform.error,
    failureCount: Math.max(own.failureCount, platform.failureCount),
    failureReason: own.failureReason ?? platform.failureReason,
    refetch: () => Promise.all([own.refetch(), platform.refetch()]),
  };
}

export function providerName(providers: readonly Provider[], id: string): string {
  return providers.find(({ provider_id }) => provider_id === id)?.name ?? id;
}

export function splitScopes(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

export function labelOf(account: Account): string {
  return account.provider_account_label ?? `An account at ${account.provider_id}`;
}
