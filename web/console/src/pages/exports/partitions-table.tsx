import { useState } from "react";
import { Button, Bytes, Checkbox, Count, Progress, StatusBadge, Table } from "../../ui/index.ts";
import { type ExportRun, isOpen, useProjectNames } from "./export-api.ts";
import { windowText } from "./export-words.ts";

const shownAtFirst = 60;

/** One row per project and day, with what was written and what went wrong on the way. */
export function PartitionsTable({
  partitions,
  showFiles,
}: {
  partitions: readonly ExportRun[];
  showFiles(partition: ExportRun): void;
}) {
  const [all, setAll] = useState(false);
  const [emptyToo, setEmptyToo] = useState(false);
  const names = useProjectNames(partitions.map(({ session_id }) => session_id));
  const isEmpty = (partition: ExportRun) =>
    partition.status === "COMPLETED" && (partition.metadata.result?.rows_written ?? 0) === 0;
  const empty = partitions.filter(isEmpty).length;
  const wanted = emptyToo ? partitions : partitions.filter((partition) => !isEmpty(partition));
  const shown = all ? wanted : wanted.slice(0, shownAtFirst);
  const several = names.size > 1;
  return (
    <div className="stack">
      {empty > 0 && (
        <Checkbox
          label={`Also the ${empty === 1 ? "day" : `${empty} days`} without runs`}
          checked={emptyToo}
          onChange={(event) => setEmptyToo(event.target.checked)}
        />
      )}
      {shown.length > 0 && (
        <Table
          label="Days"
          rows={shown}
          rowKey={({ id }) => id}
          columns={[
            {
              key: "window",
              header: "Time (UTC)",
              cell: (partition: ExportRun) => (
                <>
                  {several && <b>{names.get(partition.session_id ?? "") ?? "Project"} </b>}
                  {windowText(partition)}
                </>
              ),
            },
            { key: "state", header: "State", cell: (partition) => <PartitionState partition={partition} /> },
            {
              key: "rows",
              header: "Runs",
              align: "right",
              cell: (partition) => <Count value={partition.metadata.result?.rows_written ?? 0} />,
            },
            {
              key: "bytes",
              header: "Size",
              align: "right",
              cell: (partition) => <Bytes value={partition.metadata.result?.bytes_written ?? 0} />,
            },
            {
              key: "files",
              header: "Files",
              grow: true,
              cell: (partition) => <FileCount partition={partition} show={() => showFiles(partition)} />,
            },
          ]}
        />
      )}
      {wanted.length > shown.length && (
        <div className="row">
          <Button onClick={() => setAll(true)}>Show all {wanted.length}</Button>
        </div>
      )}
    </div>
  );
}

function PartitionState({ partition }: { partition: ExportRun }) {
  const errors = Object.values(partition.errors ?? {});
  return (
    <div className="export-progress">
      <StatusBadge status={partition.status === "CREATED" ? "queued" : partition.status} />
      {isOpen(partition) && <Progress value={partition.percentage / 100} label="Written of this day" />}
      {errors.length > 0 && (
        <details className="attempts">
          <summary>{errors.length === 1 ? "1 attempt failed" : `${errors.length} attempts failed`}</summary>
          <ol>
            {errors.map((error, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: attempts only ever grow in number
              <li key={index}>{error}</li>
            ))}
          </ol>
        </details>
      )}
    </div>
  );
}

function FileCount({ partition, show }: { partition: ExportRun; show(): void }) {
  const count = partition.metadata.result?.exported_files.length ?? 0;
  if (count === 0) return <span className="muted">–</span>;
  return (
    <Button size="small" onClick={show}>
      {count === 1 ? "1 file" : `${count} files`}
    </Button>
  );
}
