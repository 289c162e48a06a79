import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Cable, Link2 } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client.ts";
import {
  Badge,
  Button,
  ButtonLink,
  EmptyState,
  ListState,
  Section,
  StatusBadge,
  Table,
  Time,
  toast,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { ConnectDialog } from "./connect-dialog.tsx";
import { type Account, labelOf, providerName, useAccounts, useAllProviders } from "./connections-api.ts";
import { RevokeDialog } from "./revoke-dialog.tsx";
import { Scopes } from "./scopes.tsx";
import { WaitingConsents } from "./waiting-consents.tsx";

type Connecting = { account: Account | null };

export function AccountsTab() {
  const found = useAccounts();
  const providers = useAllProviders();
  const mayChange = useCan("editor");
  const [connecting, setConnecting] = useState<Connecting | null>(null);
  const [revoking, setRevoking] = useState<Account | null>(null);
  const start = () => setConnecting({ account: null });
  return (
    <>
      <WaitingConsents providers={providers.all} />
      <ListState
        of={found}
        rows={providers.isPending ? undefined : found.data}
        lines={3}
        height="3.4rem"
        empty={<NoAccounts hasProviders={providers.all.length > 0} mayChange={mayChange} onConnect={start} />}
      >
        {(rows) => (
          <Section
            title="My accounts"
            actions={
              mayChange && (
                <Button look="primary" icon={Link2} onClick={start}>
                  Connect an account
                </Button>
              )
            }
          >
            <AccountTable
              rows={rows}
              nameOf={(id) => providerName(providers.all, id)}
              mayChange={mayChange}
              onReconnect={(account) => setConnecting({ account })}
              onRevoke={setRevoking}
            />
          </Section>
        )}
      </ListState>
      {connecting && (
        <ConnectDialog
          providers={providers.all}
          account={connecting.account}
          onClose={() => setConnecting(null)}
        />
      )}
      {revoking && (
        <RevokeDialog
          account={revoking}
          provider={providerName(providers.all, revoking.provider_id)}
          onClose={() => setRevoking(null)}
        />
      )}
    </>
  );
}

function NoAccounts({
  hasProviders,
  mayChange,
  onConnect,
}: {
  hasProviders: boolean;
  mayChange: boolean;
  onConnect(): void;
}) {
  return hasProviders ? (
    <EmptyState
      icon={Cable}
      title="You have not connected an account"
      action={
        mayChange && (
          <Button look="primary" icon={Link2} onClick={onConnect}>
            Connect an account
          </Button>
        )
      }
    >
      Connect one, and agents can use it for you. An agent that needs one also asks you.
    </EmptyState>
  ) : (
    <EmptyState
      icon={Cable}
      title="First, a provider"
      action={
        mayChange && (
          <ButtonLink href="/connections/new" look="primary">
            Add a provider
          </ButtonLink>
        )
      }
    >
      A provider is a service such as GitHub or Google, registered here with a client id and a secret. People
      then connect their accounts there.
    </EmptyState>
  );
}

type TableProps = {
  rows: readonly Account[];
  nameOf(providerId: string): string;
  mayChange: boolean;
  onReconnect(account: Account): void;
  onRevoke(account: Account): void;
};

function AccountTable({ rows, nameOf, mayChange, onReconnect, onRevoke }: TableProps) {
  const client = useQueryClient();
  const prefer = useMutation({
    mutationFn: (account: Account) =>
      api.patch<Account>(`/v2/auth/tokens/${account.id}/metadata`, { is_default: true }),
    onSuccess: (account) => toast.good(`Agents now use ${labelOf(account)}.`),
    onError: (error) => toast.bad(error),
    onSettled: () => client.invalidateQueries({ queryKey: ["connections", "accounts"] }),
  });
  const hasSiblings = (account: Account) =>
    rows.filter((other) => identityOf(other) === identityOf(account)).length > 1;
  return (
    <Table
      label="My accounts"
      rows={rows}
      rowKey={({ id }) => id}
      columns={[
        {
          key: "account",
          header: "Account",
          cell: (row: Account) => (
            <span className="account">
              <b className="break">{labelOf(row)}</b>
              <span className="muted">
                {nameOf(row.provider_id)}
                {row.is_default && hasSiblings(row) && <Badge>default</Badge>}
              </span>
            </span>
          ),
        },
        { key: "state", header: "State", cell: (row) => <AccountState account={row} /> },
        { key: "scopes", header: "May", grow: true, cell: (row) => <Scopes scopes={row.scopes} /> },
        { key: "for", header: "For", cell: (row) => <For account={row} /> },
        { key: "since", header: "Connected", align: "right", cell: (row) => <Time at={row.created_at} /> },
        {
          key: "actions",
          header: <span className="spoken">Actions</span>,
          align: "right",
          cell: (row) =>
            mayChange && (
              <span className="row account-actions">
                {isDown(row) ? (
                  <Button
                    size="small"
                    look="primary"
                    aria-label={`Reconnect ${labelOf(row)}`}
                    onClick={() => onReconnect(row)}
                  >
                    Reconnect
                  </Button>
                ) : (
                  !row.is_default &&
                  hasSiblings(row) && (
                    <Button
                      size="small"
                      aria-label={`Make ${labelOf(row)} the default`}
                      onClick={() => prefer.mutate(row)}
                    >
                      Make default
                    </Button>
                  )
                )}
                <Button
                  size="small"
                  look="danger"
                  aria-label={`Revoke ${labelOf(row)}`}
                  onClick={() => onRevoke(row)}
                >
                  Revoke
                </Button>
              </span>
            ),
        },
      ]}
    />
  );
}

function AccountState({ account }: { account: Account }) {
  if (account.status === "dead") {
    return <StatusBadge status="dead" title="The provider no longer accepts it." />;
  }
  if (isExpired(account)) return <Badge tone="bad">Expired</Badge>;
  return (
    <span className="account">
      <StatusBadge status="active" />
      <span className="muted small">
        {account.expires_at === null ? (
          "does not end"
        ) : account.refreshes ? (
          "renews itself"
        ) : (
          <>
            ends <Time at={account.expires_at} />
          </>
        )}
      </span>
    </span>
  );
}

function For({ account }: { account: Account }) {
  const { agent_id, user_id } = account;
  return (
    <span className="account">
      {agent_id === null ? (
        <span className="nowrap">Every agent</span>
      ) : (
        <span className="break" title={agent_id}>
          Agent {shortId(agent_id)}
        </span>
      )}
      {user_id !== null && <span className="muted small break">on behalf of {user_id}</span>}
    </span>
  );
}

function shortId(id: string): string {
  return /^[0-9a-f]{8}-/i.test(id) ? `${id.slice(0, 8)}…` : id;
}

function identityOf({ provider_id, agent_id, user_id }: Account): string {
  return JSON.stringify([provider_id, agent_id, user_id]);
}

const isExpired = ({ expires_at }: Account) => expires_at !== null && Date.parse(expires_at) < Date.now();
const isDown = (account: Account) => account.status === "dead" || isExpired(account);
