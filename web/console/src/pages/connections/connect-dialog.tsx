import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CircleCheck, ExternalLink } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import { ApiError, api } from "../../api/client.ts";
import type { AuthAuthenticateResponse } from "../../api/wire.ts";
import { Button, Dialog, ErrorLine, Field, Input, Select, Spinner, toast } from "../../ui/index.ts";
import {
  type Account,
  type ConsentState,
  type Provider,
  providerName,
  splitScopes,
  useTemplates,
} from "./connections-api.ts";
import { ConsentLink } from "./consent-link.tsx";
import { openTab } from "./open-consent.ts";

/** Chooses a provider and what to grant, leads to the consent there, and notices when it is given. */
export function ConnectDialog({
  providers,
  account,
  onClose,
}: {
  providers: readonly Provider[];
  /** The account to connect again; null: a further one. */
  account: Account | null;
  onClose(): void;
}) {
  const [providerId, setProviderId] = useState(account?.provider_id ?? providers[0]?.provider_id ?? "");
  const [scopes, setScopes] = useState(account?.scopes.join(" ") ?? "");
  const suggested = useSuggestedScopes(providers, providerId);
  const name = providerName(providers, providerId);
  const start = useMutation({
    mutationFn: async () => {
      // While the click counts: later, the browser would take it for an advertisement.
      const tab = openTab();
      try {
        const started = await api.post<AuthAuthenticateResponse>("/v2/auth/authenticate", {
          provider: providerId,
          scopes: splitScopes(scopes),
          ...(account
            ? { token_id: account.id, agent_id: account.agent_id, user_id: account.user_id }
            : { force_new: true }),
        });
        if (started.url) tab?.go(started.url);
        else tab?.close();
        return started;
      } catch (error) {
        tab?.close();
        throw error;
      }
    },
  });
  const fields = start.error instanceof ApiError ? start.error.fields : {};
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    start.mutate();
  };
  if (start.data?.url && start.data.auth_id) {
    return (
      <Waiting
        name={name}
        url={start.data.url}
        authId={start.data.auth_id}
        onAgain={() => start.reset()}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog
      title={account ? `Reconnect ${name}` : providers.length > 1 ? "Connect an account" : `Connect ${name}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            icon={ExternalLink}
            busy={start.isPending}
            disabled={providerId === ""}
            onClick={() => submit()}
          >
            Continue at {name}
          </Button>
        </>
      }
    >
      <form className="stack" onSubmit={submit} noValidate>
        {account === null && providers.length > 1 && (
          <Field label="Provider" error={fields.provider}>
            <Select
              value={providerId}
              onChange={(event) => setProviderId(event.target.value)}
              options={providers.map(({ provider_id, name }) => ({ value: provider_id, label: name }))}
            />
          </Field>
        )}
        <Field
          label="Scopes"
          optional
          hint="What agents may do with it: the provider's scopes, separated by spaces."
          error={fields.scopes}
        >
          <Input value={scopes} onChange={(event) => setScopes(event.target.value)} spellCheck={false} />
        </Field>
        {suggested.length > 0 && (
          <div className="suggestions">
            <span className="muted small">Often used:</span>
            {suggested.map((scope) => (
              <button
                key={scope}
                type="button"
                className="button plain small"
                aria-label={`Add the scope ${scope}`}
                disabled={splitScopes(scopes).includes(scope)}
                onClick={() => setScopes([...splitScopes(scopes), scope].join(" "))}
              >
                + {scope}
              </button>
            ))}
          </div>
        )}
        <button type="submit" hidden />
        <ErrorLine error={Object.keys(fields).length === 0 ? start.error : null} />
      </form>
    </Dialog>
  );
}

function useSuggestedScopes(providers: readonly Provider[], providerId: string): string[] {
  const templates = useTemplates();
  const provider = providers.find(({ provider_id }) => provider_id === providerId);
  const template = templates.data?.find(({ token_url }) => token_url === provider?.token_url);
  return template?.example_scopes ?? [];
}

function Waiting({
  name,
  url,
  authId,
  onAgain,
  onClose,
}: {
  name: string;
  url: string;
  authId: string;
  onAgain(): void;
  onClose(): void;
}) {
  const client = useQueryClient();
  const state = useQuery({
    queryKey: ["connections", "consent", authId],
    queryFn: ({ signal }) => api.get<ConsentState>(`/v2/auth/authorizations/${authId}`, { signal }),
    refetchInterval: (query) => (query.state.data?.status === "pending" ? 1_500 : false),
    // The tab one waits in is behind the provider's.
    refetchIntervalInBackground: true,
  });
  const status = state.data?.status ?? "pending";
  useEffect(() => {
    if (status !== "completed") return;
    toast.good(`Your ${name} account is connected.`);
    void client.invalidateQueries({ queryKey: ["connections"] });
    onClose();
  }, [status, name, client, onClose]);
  const over = status === "failed" || status === "expired";
  return (
    <Dialog
      title={`Connect ${name}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{over ? "Close" : "Stop waiting"}</Button>
          {over ? (
            <Button look="primary" onClick={onAgain}>
              Try again
            </Button>
          ) : (
            <ConsentLink url={url}>
              <ExternalLink aria-hidden="true" size={16} />
              Open {name} again
            </ConsentLink>
          )}
        </>
      }
    >
      <div className="consent-state" role="status">
        {status === "pending" && (
          <>
            <Spinner />
            <p>Give your consent in the tab that opened. This page continues by itself.</p>
          </>
        )}
        {status === "completed" && (
          <>
            <CircleCheck aria-hidden="true" size={20} />
            <p>Connected.</p>
          </>
        )}
        {status === "failed" && <p>{failureText(name, state.data?.failure ?? null)}</p>}
        {status === "expired" && <p>The link was not used in time. Start again.</p>}
      </div>
      <ErrorLine error={state.error} />
    </Dialog>
  );
}

function failureText(name: string, failure: string | null): string {
  if (failure === "access_denied" || failure === "declined")
    return "You did not give your consent, so nothing was connected.";
  return `${name} did not complete the connection${failure ? ` (${failure})` : ""}. Check the provider's client id, secret and scopes, then try again.`;
}
