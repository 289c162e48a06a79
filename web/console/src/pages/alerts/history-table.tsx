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
export function UndeliveredNotice({ alert: { id, undelivered } }: { alert: Alert }) {
  const mayChange = useCan("editor");
  const [first] = undelivered;
  if (first === undefined) return null;
  const isTried = undelivered.every(({ status }) => status === "pending");
  return (
    <div className={isTried ? "notice" : "notice bad"} role="status">
      <CircleAlert aria-hidden="true" size={18} />
      <div>
        <b>
          {isTried ? "The last message has not arrived yet." : "The last message did not arrive."}{" "}
          <Time at={first.at} />
        </b>
        {undelivered.map((each) => (
          <p key={`${each.channel} ${each.target}`}>
            {reasonOf(each)}
            {each.status === "pending" && " It is tried again for about 40 minutes."}
          </p>
        ))}
        {mayChange && <Link href={`/alerts/${id}?edit`}>Change who is notified</Link>}
      </div>
    </div>
  );
}

/** The same in a line of the list. */
export function UndeliveredLine({ alert: { undelivered } }: { alert: Alert }) {
  const [first, ...others] = undelivered;
  if (first === undefined) return null;
  return (
    <span className={first.status === "pending" ? "field-hint" : "field-error"}>
      {first.status === "pending" ? "Not delivered yet" : "Not delivered"} <Time at={first.at} />:{" "}
      {reasonOf(first)}
      {others.length > 0 && ` And ${others.length} more.`}
    </span>
  );
}

function reasonOf({ target, error }: Alert["undelivered"][number]): string {
  return error.includes(target) ? error : `${target}: ${error}`;
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
