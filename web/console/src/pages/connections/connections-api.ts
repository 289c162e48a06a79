import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type {
  AuthConsent,
  AuthOpenConsent,
  OAuthProvider,
  OAuthProviderTemplate,
  OAuthTokenEvent,
  OAuthTokenSummary,
} from "../../api/wire.ts";

export type Provider = OAuthProvider;
export type Template = OAuthProviderTemplate;
export type Account = OAuthTokenSummary;
/** A consent that was asked for and not given yet. */
export type OpenConsent = AuthOpenConsent;
export type ConsentState = Pick<AuthConsent, "status" | "failure">;
export type TokenEvent = OAuthTokenEvent;

/** The server's hints name "connections" when any of this has changed. */
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
