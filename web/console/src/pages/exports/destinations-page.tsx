import { useQueryClient } from "@tanstack/react-query";
import { Database, KeyRound, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client.ts";
import {
  ButtonLink,
  ConfirmDialog,
  EmptyState,
  IconButton,
  ListState,
  Page,
  PageHeader,
  Table,
  Time,
  toast,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type Destination, destinationsPath, useDestinations } from "./export-api.ts";
import { placeText } from "./export-words.ts";
import { ExportsTabs } from "./parts.tsx";
import { RotateDialog } from "./rotate-dialog.tsx";

type Open = { what: "rotate" | "delete"; destination: Destination } | null;

export function DestinationsPage() {
  const found = useDestinations();
  const mayChange = useCan("admin");
  const [open, setOpen] = useState<Open>(null);
  const client = useQueryClient();
  const close = () => setOpen(null);
  const create = mayChange && (
    <ButtonLink href="/exports/destinations/new" look="primary" icon={Plus}>
      New destination
    </ButtonLink>
  );
  const remove = async ({ id, display_name }: Destination) => {
    await api.delete(`${destinationsPath}/${id}`);
    await client.invalidateQueries({ queryKey: ["destinations"] });
    toast.good(`${display_name} is deleted. Files that were written to it stay.`);
    close();
  };
  return (
    <Page title="Destinations">
      <PageHeader
        title="Exports"
        description="Destinations are the buckets exports are written to. Credentials are kept encrypted and never shown."
        actions={create}
      />
      <ExportsTabs current="destinations" />
      <ListState
        of={found}
        rows={found.data}
        lines={3}
        height="3.2rem"
        empty={
          <EmptyState icon={Database} title="No destination yet" action={create}>
            Name a bucket and credentials that may write to it. Treadle tests them before it stores them.
          </EmptyState>
        }
      >
        {(rows) => (
          <Table
            label="Destinations"
            rows={rows}
            rowKey={({ id }) => id}
            columns={[
              { key: "name", header: "Name", cell: (row: Destination) => row.display_name },
              {
                key: "place",
                header: "Bucket",
                grow: true,
                cell: (row) => <span className="mono break">{placeText(row)}</span>,
              },
              {
                key: "storage",
                header: "Storage",
                wideOnly: true,
                cell: (row) => row.config.endpoint_url ?? `AWS, ${row.config.region ?? "us-east-1"}`,
              },
              {
                key: "keys",
                header: "Credentials",
                wideOnly: true,
                cell: (row) => (row.credentials_keys.length === 0 ? "the server's own" : "kept"),
              },
              {
                key: "changed",
                header: "Changed",
                align: "right",
                cell: (row) => <Time at={row.updated_at} />,
              },
              ...(mayChange
                ? [
                    {
                      key: "actions",
                      header: <span className="spoken">Actions</span>,
                      align: "right" as const,
                      cell: (row: Destination) => (
                        <span className="row destination-actions">
                          <IconButton
                            size="small"
                            icon={KeyRound}
                            label={`Change the credentials of ${row.display_name}`}
                            onClick={() => setOpen({ what: "rotate", destination: row })}
                          />
                          <IconButton
                            size="small"
                            icon={Trash2}
                            label={`Delete ${row.display_name}`}
                            onClick={() => setOpen({ what: "delete", destination: row })}
                          />
                        </span>
                      ),
                    },
                  ]
                : []),
            ]}
          />
        )}
      </ListState>
      {open?.what === "rotate" && <RotateDialog destination={open.destination} onClose={close} />}
      {open?.what === "delete" && (
        <ConfirmDialog
          title={`Delete ${open.destination.display_name}?`}
          action="Delete"
          typeToConfirm={open.destination.display_name}
          onClose={close}
          onConfirm={() => remove(open.destination)}
        >
          Its credentials are deleted. Files in the bucket stay. A destination that exports use cannot be
          deleted.
        </ConfirmDialog>
      )}
    </Page>
  );
}
