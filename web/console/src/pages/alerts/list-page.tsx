import { Bell, Plus } from "lucide-react";
import { Link } from "wouter";
import {
  Badge,
  ButtonLink,
  EmptyState,
  ListState,
  Page,
  PageHeader,
  StatusBadge,
  Table,
  Time,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type Alert, useAlerts } from "./alert-api.ts";
import { conditionText, kindNames, valueText } from "./alert-form-rules.ts";
import { UndeliveredLine } from "./history-table.tsx";

export function ListPage() {
  const found = useAlerts();
  const create = useCan("editor") && (
    <ButtonLink href="/alerts/new" look="primary" icon={Plus}>
      New alert
    </ButtonLink>
  );
  return (
    <Page title="Alerts">
      <PageHeader
        title="Alerts"
        description="Who is notified when runs fail, are slow or do not happen, or an export fails."
        actions={create}
      />
      <ListState
        of={found}
        rows={found.data}
        lines={4}
        height="3.2rem"
        empty={
          <EmptyState icon={Bell} title="Nothing is watched yet" action={create}>
            Create an alert: it checks every minute, and sends one message when something goes wrong and one
            when it is resolved.
          </EmptyState>
        }
      >
        {(rows) => (
          <Table
            label="Alerts"
            rows={rows}
            rowKey={({ id }) => id}
            href={({ id }) => `/alerts/${id}`}
            columns={[
              {
                key: "name",
                header: "Name",
                cell: (row: Alert) => (
                  <span className="two-lines">
                    <Link className="strong" href={`/alerts/${row.id}`}>
                      {row.name}
                    </Link>
                    <UndeliveredLine alert={row} />
                  </span>
                ),
              },
              { key: "state", header: "State", cell: (row) => <AlertBadge alert={row} /> },
              {
                key: "kind",
                header: "Fires on",
                cell: (row) => (
                  <span className="two-lines">
                    <span>{kindNames[row.kind]}</span>
                    <span className="muted">{conditionText(row)}</span>
                  </span>
                ),
              },
              { key: "value", header: "Now", align: "right", cell: (row) => valueText(row) },
              {
                key: "since",
                header: "Since",
                align: "right",
                wideOnly: true,
                cell: (row) => <Time at={row.state_since} />,
              },
            ]}
          />
        )}
      </ListState>
    </Page>
  );
}

export function AlertBadge({ alert }: { alert: Alert }) {
  const muted = alert.muted_until !== null && Date.parse(alert.muted_until) > Date.now();
  return (
    <span className="row">
      {alert.enabled ? <StatusBadge status={alert.state} /> : <Badge>Off</Badge>}
      {muted && <Badge tone="warn">Muted</Badge>}
      {alert.problem !== null && <Badge tone="warn">Cannot look</Badge>}
    </span>
  );
}
