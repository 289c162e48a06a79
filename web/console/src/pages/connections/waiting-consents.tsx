import { useQueryClient } from "@tanstack/react-query";
import { ExternalLink } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { Button, ConfirmDialog, Section, Time, toast } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type OpenConsent, type Provider, providerName, useOpenConsents } from "./connections-api.ts";
import { ConsentLink } from "./consent-link.tsx";
import { Scopes } from "./scopes.tsx";

/** The consents agents are waiting for. Not shown when there are none. */
export function WaitingConsents({ providers }: { providers: readonly Provider[] }) {
  const found = useOpenConsents(useCan("editor"));
  const [declining, setDeclining] = useState<OpenConsent | null>(null);
  const client = useQueryClient();
  const waiting = found.data ?? [];
  if (waiting.length === 0) return null;
  return (
    <Section
      title={waiting.length === 1 ? "One consent waits for you" : `${waiting.length} consents wait for you`}
    >
      <ul className="waiting">
        {waiting.map((consent) => {
          const name = providerName(providers, consent.provider_id);
          return (
            <li key={consent.auth_id} className="card waiting-card">
              <div className="account">
                <b>{whoAsks(consent, name)}</b>
                <Scopes scopes={consent.scopes} all />
                <span className="muted small">
                  {consent.for_agent && "Any editor here can connect theirs. "}Asked{" "}
                  <Time at={consent.created_at} />, the link ends <Time at={consent.expires_at} />
                </span>
              </div>
              <div className="row account-actions">
                <ConsentLink url={consent.url} look="primary">
                  <ExternalLink aria-hidden="true" size={16} />
                  Connect {name}
                </ConsentLink>
                <Button aria-label={`Decline ${name}`} onClick={() => setDeclining(consent)}>
                  Decline
                </Button>
              </div>
            </li>
          );
        })}
      </ul>
      {declining && (
        <ConfirmDialog
          title="Decline this consent?"
          action="Decline"
          onClose={() => setDeclining(null)}
          onConfirm={async () => {
            await api.delete(`/v2/auth/authorizations/${declining.auth_id}`);
            toast.good("Declined. The agent is informed.");
            setDeclining(null);
            await client.invalidateQueries({ queryKey: ["connections"] });
          }}
        >
          The link stops working, and the waiting agent continues without the account. It may ask again.
        </ConfirmDialog>
      )}
    </Section>
  );
}

function whoAsks({ agent_id, for_agent, user_id }: OpenConsent, provider: string): string {
  const agent = agent_id === null ? "Somebody" : `Agent ${agent_id.slice(0, 40)}`;
  if (for_agent) return `${agent} asks for its own ${provider} account`;
  if (user_id !== null) return `${agent} asks for the ${provider} account of ${user_id}`;
  return `${agent} asks for your ${provider} account`;
}
