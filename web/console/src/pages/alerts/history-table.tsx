import { CircleAlert } from "lucide-react";
import { Link } from "wouter";
import { Badge, ListState, StatusBadge, Table, Time } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type Alert, type AlertEvent, useHistory } from "./alert-api.ts";

/** Each change and test, with the delivery of its messages. */
export function HistoryTable({ id }: { id: string }) {
  const found = useHistory(id);
  return (
    <ListState
      of={found}
      rows={found.data}
      lines={2}
      height="3rem"
      empty={<p className="muted">Nothing has happened yet. The history is kept for 90 days.</p>}
    >
      {(rows) => (
        <Table
          label="History"
          rows={rows}
          rowKey={(row) => row.id}
          columns={[
            {
              key: "kind",
              header: "What",
              cell: ({ kind }: AlertEvent) =>
                kind === "test" ? <Badge>Test</Badge> : <StatusBadge status={kind} />,
            },
            { key: "message", header: "Message", grow: true, cell: ({ message }) => message },
            { key: "sent", header: "Sent to", cell: (row) => <Deliveries event={row} /> },
            { key: "at", header: "When", align: "right", cell: ({ at }) => <Time at={at} /> },
          ]}
        />
      )}
    </ListState>
  );
}

/** The last message did not arrive everywhere: people who rely on it should know before the next one. */
export function UndeliveredNotice({ alert }: { alert: Alert }) {
  const mayChange = useCan("editor");
  const [last] = useHistory(alert.id).data ?? [];
  const failed = last?.deliveries.filter(({ status }) => status === "failed") ?? [];
  if (failed.length === 0) return null;
  return (
    <div className="notice bad" role="status">
      <CircleAlert aria-hidden="true" size={18} />
      <div>
        <b>The last message did not arrive.</b>
        {failed.map(({ channel, target, error }) => (
          <p key={`${channel} ${target}`}>{error ?? `${target} did not accept it.`}</p>
        ))}
        {mayChange && <Link href={`/alerts/${alert.id}?edit`}>Change who is notified</Link>}
      </div>
    </div>
  );
}

const words = { pending: "being sent", sent: "delivered", failed: "failed" } as const;

function Deliveries({ event }: { event: AlertEvent }) {
  if (event.muted) return <span className="muted">nobody: it was muted</span>;
  return (
    <span className="two-lines">
      {event.deliveries.map(({ channel, target, status, error }) => (
        <span key={`${channel} ${target}`}>
          {target}: {words[status]}
          {error !== null && <span className="muted"> {error}</span>}
        </span>
      ))}
    </span>
  );
}
