import { useQueryClient } from "@tanstack/react-query";
import { Plus, Server } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { listenersKey, useListeners } from "../../api/use-listeners.ts";
import type { Listener } from "../../api/wire.ts";
import {
  Badge,
  Button,
  ConfirmDialog,
  EmptyState,
  ListState,
  Section,
  Table,
  Time,
  toast,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { NewListenerDialog, StartListenerDialog } from "./new-listener-dialog.tsx";

const presences = {
  alive: ["good", "Alive"],
  away: ["warn", "Away"],
  never: ["neutral", "Not started yet"],
} as const satisfies Record<Listener["presence"], readonly [string, string]>;

/** Places elsewhere that run deployments of this workspace. */
export function ListenersTab() {
  const client = useQueryClient();
  const mayChange = useCan("admin");
  const [adding, setAdding] = useState(false);
  const [starting, setStarting] = useState<Listener | null>(null);
  const [removing, setRemoving] = useState<Listener | null>(null);
  const found = useListeners();
  const reload = () => client.invalidateQueries({ queryKey: listenersKey });
  const add = mayChange && (
    <Button look="primary" icon={Plus} onClick={() => setAdding(true)}>
      New listener
    </Button>
  );
  return (
    <Section title="Listeners" actions={add}>
      <p className="muted">
        A listener runs deployments in another network or cluster: it connects to this server, builds and
        serves them there, and reports. A deployment names its listener when it is created.
      </p>
      <ListState
        of={found}
        rows={found.data?.resources}
        lines={2}
        height="3rem"
        empty={
          <EmptyState icon={Server} title="No listeners yet">
            Everything runs on this server. Make a listener to run deployments somewhere else.
          </EmptyState>
        }
      >
        {(rows) => <Listeners {...{ rows, mayChange }} onStart={setStarting} onRemove={setRemoving} />}
      </ListState>
      {adding && (
        <NewListenerDialog
          onClose={() => setAdding(false)}
          onMade={(made) => {
            setAdding(false);
            setStarting(made);
            void reload();
          }}
        />
      )}
      {starting && <StartListenerDialog listener={starting} onClose={() => setStarting(null)} />}
      {removing && (
        <ConfirmDialog
          title={`Delete ${removing.compute_id}?`}
          action="Delete"
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await api.delete(`/v2/listeners/${removing.id}`);
            toast.good(`${removing.compute_id} is deleted.`);
            setRemoving(null);
            await reload();
          }}
        >
          Its process cannot connect any more. Revoke its key as well.
        </ConfirmDialog>
      )}
    </Section>
  );
}

type ListenersProps = {
  rows: readonly Listener[];
  mayChange: boolean;
  onStart(row: Listener): void;
  onRemove(row: Listener): void;
};

function Listeners({ rows, mayChange, onStart, onRemove }: ListenersProps) {
  return (
    <Table
      label="Listeners"
      rows={rows}
      rowKey={({ id }) => id}
      columns={[
        {
          key: "name",
          header: "Name",
          grow: true,
          cell: (row: Listener) => (
            <span className="two-lines">
              <b className="break">{row.compute_id}</b>
              <code className="break">{row.process?.url ?? row.compute_type}</code>
            </span>
          ),
        },
        {
          key: "presence",
          header: "State",
          cell: ({ presence }) => <Badge tone={presences[presence][0]}>{presences[presence][1]}</Badge>,
        },
        {
          key: "seen",
          header: "Last heard of",
          cell: ({ seen_at: at }) => (at ? <Time at={at} /> : "never"),
        },
        {
          key: "process",
          header: "Runtime",
          cell: ({ process }) => (process ? `${process.runtime}, ${process.version}` : "–"),
        },
        {
          key: "used",
          header: "Runs",
          cell: ({ deployments }) => (
            <span className="nowrap">
              {deployments === 1 ? "1 deployment" : `${deployments} deployments`}
            </span>
          ),
        },
        {
          key: "actions",
          header: <span className="spoken">Actions</span>,
          align: "right",
          cell: (row) =>
            mayChange && (
              <span className="row row-actions">
                <Button
                  size="small"
                  onClick={() => onStart(row)}
                  aria-label={`How to start ${row.compute_id}`}
                >
                  How to start it
                </Button>
                {row.deployments === 0 && (
                  <Button
                    size="small"
                    look="danger"
                    aria-label={`Delete ${row.compute_id}`}
                    onClick={() => onRemove(row)}
                  >
                    Delete
                  </Button>
                )}
              </span>
            ),
        },
      ]}
    />
  );
}
