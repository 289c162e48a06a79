import { useMutation, useQueryClient } from "@tanstack/react-query";
import { History } from "lucide-react";
import { api } from "../../api/client.ts";
import {
  Badge,
  Button,
  EmptyState,
  ListState,
  Section,
  Table,
  Time,
  type Tone,
  toast,
} from "../../ui/index.ts";
import { providerName, type TokenEvent, useAllProviders, useTokenEvents } from "./connections-api.ts";

const words: Readonly<Record<string, readonly [Tone, string]>> = {
  connected: ["good", "Connected"],
  reconnected: ["good", "Reconnected"],
  imported: ["good", "Imported"],
  refresh_failed: ["warn", "Not renewed"],
  disconnected: ["bad", "Disconnected"],
  revoked: ["neutral", "Revoked"],
  earlier_revoked: ["neutral", "Earlier consent revoked"],
  earlier_left: ["warn", "Earlier consent not revoked"],
  deleted_locally: ["warn", "Deleted here only"],
};
const sources: Readonly<Record<string, string>> = {
  consent: "With your consent",
  import: "Taken over from elsewhere",
  owner: "By you",
  "new consent": "A new consent took its place",
  administrator: "By an administrator",
};
/** Events that need an action of a user. */
const calls = new Set(["disconnected", "refresh_failed"]);

export function EventsTab() {
  const found = useTokenEvents();
  const providers = useAllProviders();
  const client = useQueryClient();
  const acknowledge = useMutation({
    mutationFn: (event: TokenEvent) => api.post(`/v2/auth/token-events/${event.id}/acknowledge`),
    onError: (error) => toast.bad(error),
    onSettled: () => client.invalidateQueries({ queryKey: ["connections", "events"] }),
  });
  return (
    <ListState
      of={found}
      rows={found.data}
      lines={5}
      height="3rem"
      empty={
        <EmptyState icon={History} title="Nothing has happened yet">
          Here you will see when an account was connected, could not be renewed, or was disconnected.
        </EmptyState>
      }
    >
      {(rows) => (
        <Section title="What happened to my accounts">
          <Table
            label="Events of my accounts"
            rows={rows}
            rowKey={({ id }) => id}
            columns={[
              { key: "time", header: "When", cell: (row: TokenEvent) => <Time at={row.created_at} /> },
              { key: "event", header: "What", cell: (row) => <What event={row} /> },
              {
                key: "account",
                header: "Account",
                cell: (row) => (
                  <span className="account">
                    <b>{providerName(providers.all, row.provider_id)}</b>
                    {row.provider_account_label && (
                      <span className="muted small break">{row.provider_account_label}</span>
                    )}
                  </span>
                ),
              },
              {
                key: "detail",
                header: "More",
                grow: true,
                cell: (row) => (
                  <span className="break">{row.detail ?? sources[row.source ?? ""] ?? row.source}</span>
                ),
              },
              {
                key: "actions",
                header: <span className="spoken">Actions</span>,
                align: "right",
                cell: (row) =>
                  calls.has(row.event_type) &&
                  row.acknowledged_at === null && (
                    <Button size="small" onClick={() => acknowledge.mutate(row)}>
                      Mark as seen
                    </Button>
                  ),
              },
            ]}
          />
        </Section>
      )}
    </ListState>
  );
}

function What({ event }: { event: TokenEvent }) {
  const [tone, text] = words[event.event_type] ?? ["neutral", event.event_type.replaceAll("_", " ")];
  return <Badge tone={tone}>{text}</Badge>;
}
