import { FolderOutput, Plus } from "lucide-react";
import { useSearchParams } from "wouter";
import {
  ButtonLink,
  Checkbox,
  EmptyState,
  ListState,
  Page,
  PageHeader,
  ShowMore,
  Table,
  Time,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type BulkExport, useDestinations, useExports, useProjectNames } from "./export-api.ts";
import { intervalText, windowText } from "./export-words.ts";
import { ExportBadge, ExportLink, ExportProgress, ExportsTabs } from "./parts.tsx";

export function ListPage() {
  const [params, setParams] = useSearchParams();
  const without = params.get("schedules") === "apart";
  const found = useExports(without ? { spawned: false } : {});
  const mayCreate = useCan("admin");
  const create = mayCreate && (
    <ButtonLink href="/exports/new" look="primary" icon={Plus}>
      New export
    </ButtonLink>
  );
  return (
    <Page title="Exports">
      <PageHeader
        title="Exports"
        description="Traces as Parquet files in your own bucket, once or on a schedule."
        actions={create}
      />
      <ExportsTabs current="exports" />
      <ListState
        of={found}
        rows={found.data?.pages.flat()}
        lines={4}
        height="3.2rem"
        empty={
          <EmptyState icon={FolderOutput} title="Nothing was exported yet" action={create}>
            Choose a project and a time. Its runs are written to your S3 bucket, where DuckDB, BigQuery,
            Snowflake, Athena or Spark can read them.
          </EmptyState>
        }
      >
        {(rows) => (
          <>
            {(without || rows.some(({ source_bulk_export_id: source }) => source !== null)) && (
              <Checkbox
                label="Leave out exports of schedules"
                checked={without}
                onChange={({ target }) =>
                  setParams(target.checked ? { schedules: "apart" } : {}, { replace: true })
                }
              />
            )}
            <ExportsTable rows={rows} />
            <ShowMore of={found} />
          </>
        )}
      </ListState>
    </Page>
  );
}

export function ExportsTable({ rows }: { rows: readonly BulkExport[] }) {
  const names = useProjectNames(rows.map(({ session_id }) => session_id));
  const destinations = new Map((useDestinations().data ?? []).map((one) => [one.id, one.display_name]));
  return (
    <Table
      label="Exports"
      rows={rows}
      rowKey={({ id }) => id}
      href={({ id }) => `/exports/${id}`}
      columns={[
        { key: "what", header: "What", cell: (row: BulkExport) => <ExportLink row={row} names={names} /> },
        {
          key: "when",
          header: "Time (UTC)",
          grow: true,
          cell: (row) => (
            <>
              {row.interval_hours !== null && `${intervalText(row.interval_hours)}, `}
              {windowText(row)}
              {row.source_bulk_export_id !== null && <span className="muted small"> by schedule</span>}
            </>
          ),
        },
        {
          key: "to",
          header: "To",
          wideOnly: true,
          cell: (row) => (
            <span className="nowrap">{destinations.get(row.bulk_export_destination_id) ?? "–"}</span>
          ),
        },
        { key: "state", header: "State", cell: (row) => <ExportBadge row={row} /> },
        { key: "written", header: "Written", cell: (row) => <ExportProgress row={row} /> },
        { key: "created", header: "Created", align: "right", cell: (row) => <Time at={row.created_at} /> },
      ]}
    />
  );
}
