import { Link } from "wouter";
import { Count, Progress, StatusBadge, Tabs } from "../../ui/index.ts";
import { type BulkExport, isOpen, isSchedule } from "./export-api.ts";
import { statusOf, subjectOf } from "./export-words.ts";

export function ExportsTabs({ current }: { current: "exports" | "destinations" }) {
  return (
    <Tabs
      label="Exports"
      current={current}
      tabs={[
        { id: "exports", label: "Exports", href: "/exports" },
        { id: "destinations", label: "Destinations", href: "/exports/destinations" },
      ]}
    />
  );
}

export function ExportBadge({ row }: { row: BulkExport }) {
  return <StatusBadge status={statusOf(row)} />;
}

/** A bar while it runs, and what has been written. */
export function ExportProgress({ row }: { row: BulkExport }) {
  if (isSchedule(row)) return <span className="muted">–</span>;
  const { rows_written, percentage } = row.progress;
  return (
    <div className="export-progress">
      {isOpen(row) && (
        <Progress value={row.status === "RUNNING" ? percentage / 100 : 0} label="Written so far" />
      )}
      <span className="small">
        <Count value={rows_written} /> {rows_written === 1 ? "run" : "runs"}
      </span>
    </div>
  );
}

export function ExportLink({ row, names }: { row: BulkExport; names: ReadonlyMap<string, string> }) {
  return <Link href={`/exports/${row.id}`}>{subjectOf(row, names)}</Link>;
}
