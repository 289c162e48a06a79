import { useQueryClient } from "@tanstack/react-query";
import { CircleAlert } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../../api/client.ts";
import {
  Button,
  ButtonLink,
  Bytes,
  Card,
  ConfirmDialog,
  CopyBlock,
  CopyButton,
  Count,
  Duration,
  EmptyState,
  ErrorState,
  Facts,
  ListState,
  Page,
  PageHeader,
  Progress,
  Section,
  ShowMore,
  Skeleton,
  Time,
  toast,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import {
  type BulkExport,
  type Destination,
  type ExportRun,
  exportsPath,
  isOpen,
  isSchedule,
  useDestinations,
  useExport,
  useExportRuns,
  useExports,
  useProjectNames,
} from "./export-api.ts";
import {
  adviceFor,
  againPath,
  duckDbSnippet,
  intervalText,
  placeText,
  subjectOf,
  windowText,
} from "./export-words.ts";
import { FilesSection } from "./files-section.tsx";
import { ExportsTable } from "./list-page.tsx";
import { PartitionsTable } from "./partitions-table.tsx";
import { ExportBadge } from "./parts.tsx";

const crumbs = [{ label: "Exports", href: "/exports" }];

export function DetailPage({ id }: { id: string }) {
  const found = useExport(id);
  const destinations = useDestinations();
  if (!found.data) {
    return (
      <Page title="Export">
        <PageHeader title="Export" crumbs={crumbs} />
        {found.error ? (
          <ErrorState error={found.error} retry={() => found.refetch()} />
        ) : (
          <Skeleton lines={6} height="2.4rem" />
        )}
      </Page>
    );
  }
  const row = found.data;
  const destination = destinations.data?.find((one) => one.id === row.bulk_export_destination_id);
  return <Detail row={row} destination={destination} />;
}

function Detail({ row, destination }: { row: BulkExport; destination: Destination | undefined }) {
  const [cancelling, setCancelling] = useState(false);
  const [chosen, setChosen] = useState<ExportRun | null>(null);
  const client = useQueryClient();
  const mayChange = useCan("admin");
  const names = useProjectNames([row.session_id]);
  const subject = subjectOf(row, names);
  const schedule = isSchedule(row);
  const cancel = async () => {
    await api.patch(`${exportsPath}/${row.id}`, { status: "CANCELLED" });
    await client.invalidateQueries({ queryKey: ["exports"] });
    toast.good(schedule ? "The schedule is off." : "The export is cancelled.");
    setCancelling(false);
  };
  return (
    <Page title={subject}>
      <PageHeader
        title={subject}
        crumbs={crumbs}
        badge={<ExportBadge row={row} />}
        description={`${row.interval_hours === null ? "" : `${intervalText(row.interval_hours)}, `}${windowText(row)} UTC`}
        actions={
          mayChange && (
            <>
              {isOpen(row) && (
                <Button look="danger" onClick={() => setCancelling(true)}>
                  {schedule ? "Stop the schedule" : "Cancel"}
                </Button>
              )}
              {!isOpen(row) && <ButtonLink href={againPath(row)}>Export again</ButtonLink>}
            </>
          )
        }
      />
      {row.error && (
        <div className="notice bad" role="alert">
          <CircleAlert aria-hidden="true" size={18} />
          <div>
            <b>{row.error}</b>
            <p>{adviceFor(row.error_code)}</p>
          </div>
        </div>
      )}
      {!schedule && <Written row={row} />}
      <Card>
        <Facts items={factsOf(row, destination)} />
      </Card>
      {schedule ? (
        <Spawned id={row.id} />
      ) : (
        <>
          <Partitions row={row} showFiles={setChosen} />
          <FilesSection row={row} chosen={chosen} showAll={() => setChosen(null)} />
        </>
      )}
      {(isOpen(row) || schedule || row.progress.files_written > 0) && (
        <Section title="Query it">
          <Card className="stack">
            <p className="muted">
              With <a href="https://duckdb.org">DuckDB</a>; give it a key that may read the bucket.
            </p>
            <CopyBlock label="DuckDB query" text={duckDbSnippet(row, destination)} />
          </Card>
        </Section>
      )}
      {cancelling && (
        <ConfirmDialog
          title={schedule ? "Stop the schedule?" : "Cancel this export?"}
          action={schedule ? "Stop it" : "Cancel the export"}
          onClose={() => setCancelling(false)}
          onConfirm={cancel}
        >
          {schedule
            ? "No more exports are created. Existing ones continue and stay."
            : "Writing stops within a second. Files already written stay in the bucket. It cannot be started again; create a new export instead."}
        </ConfirmDialog>
      )}
    </Page>
  );
}

function Written({ row }: { row: BulkExport }) {
  const { rows_written, files_written, bytes_written, percentage, runs_finished, runs_total } = row.progress;
  const isWritten = row.status === "COMPLETED" || isOpen(row);
  // A day that failed or was given up is over, and not written.
  const days = useExportRuns(row.id, !isWritten).data?.filter(({ status }) => status === "COMPLETED").length;
  return (
    <Card className="stack written">
      <Progress value={percentage / 100} label="Written so far" />
      <dl>
        <div>
          <dt>Runs</dt>
          <dd>
            <Count value={rows_written} />
          </dd>
        </div>
        <div>
          <dt>Files</dt>
          <dd>
            <Count value={files_written} />
          </dd>
        </div>
        <div>
          <dt>Size</dt>
          <dd>
            <Bytes value={bytes_written} />
          </dd>
        </div>
        <div>
          <dt>Days</dt>
          <dd className="number">
            {isWritten ? runs_finished : (days ?? "–")} of {runs_total}
          </dd>
        </div>
      </dl>
    </Card>
  );
}

function factsOf(row: BulkExport, destination: Destination | undefined) {
  const fields = row.export_fields;
  return [
    ...(row.session_id
      ? [
          [
            "Traces",
            <Link key="traces" href={`/traces/${row.session_id}?range=all`}>
              of the project
            </Link>,
          ] as const,
        ]
      : []),
    [
      "Destination",
      destination ? (
        <Link key="destination" href="/exports/destinations">
          {`${destination.display_name} (${placeText(destination)})`}
        </Link>
      ) : (
        "–"
      ),
    ],
    ...(row.filter ? [["Filter", <code key="filter">{row.filter}</code>] as const] : []),
    ["Columns", fields === null ? "all but feedbacks" : fields.join(", ")],
    ["Compression", row.compression],
    ["Created", <Time key="created" at={row.created_at} />],
    ...(isSchedule(row)
      ? []
      : [["Took", <Duration key="took" since={row.created_at} until={row.finished_at} />] as const]),
    ...(row.source_bulk_export_id
      ? [
          [
            "Made by",
            <Link key="source" href={`/exports/${row.source_bulk_export_id}`}>
              a schedule
            </Link>,
          ] as const,
        ]
      : []),
    ...(row.skipped_session_ids.length > 0
      ? [["Left out", `${row.skipped_session_ids.length} experiments above the limit of one export`] as const]
      : []),
    [
      "ID",
      <span key="id" className="row export-id">
        <code>{row.id.slice(0, 8)}…</code>
        <CopyButton text={row.id} label="Copy the id" />
      </span>,
    ],
  ] as const;
}

function Partitions({ row, showFiles }: { row: BulkExport; showFiles(partition: ExportRun): void }) {
  const found = useExportRuns(row.id, true);
  return (
    <Section title="Days">
      <ListState
        of={found}
        rows={found.data}
        lines={3}
        height="2.6rem"
        empty={
          <EmptyState title={isOpen(row) ? "It has not started yet" : "Nothing was begun"}>
            {isOpen(row) && "Exports of a workspace run a few at a time; this one starts by itself."}
          </EmptyState>
        }
      >
        {(partitions) => <PartitionsTable partitions={partitions} showFiles={showFiles} />}
      </ListState>
    </Section>
  );
}

function Spawned({ id }: { id: string }) {
  const found = useExports({ source_bulk_export_id: id });
  return (
    <Section title="Exports it has created">
      <ListState
        of={found}
        rows={found.data?.pages.flat()}
        lines={3}
        height="3.2rem"
        empty={
          <EmptyState title="None yet">
            The first one is created ten minutes after the first interval ends.
          </EmptyState>
        }
      >
        {(rows) => (
          <>
            <ExportsTable rows={rows} />
            <ShowMore of={found} />
          </>
        )}
      </ListState>
    </Section>
  );
}
