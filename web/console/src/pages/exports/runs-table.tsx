import { useState } from "react";
import { Button, Bytes, Checkbox, Count, Progress, StatusBadge, Table } from "../../ui/index.ts";
import { type ExportRun, isOpen, useProjectNames } from "./export-api.ts";
import { windowText } from "./export-words.ts";

const shownAtFirst = 60;

/** One row per project and day, with what was written and what went wrong on the way. */
export function RunsTable({ runs }: { runs: readonly ExportRun[] }) {
  const [all, setAll] = useState(false);
  const [emptyToo, setEmptyToo] = useState(false);
  const names = useProjectNames(runs.map(({ session_id }) => session_id));
  const isEmpty = (run: ExportRun) =>
    run.status === "COMPLETED" && (run.metadata.result?.rows_written ?? 0) === 0;
  const empty = runs.filter(isEmpty).length;
  const wanted = emptyToo ? runs : runs.filter((run) => !isEmpty(run));
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
              cell: (run: ExportRun) => (
                <>
                  {several && <b>{names.get(run.session_id ?? "") ?? "Project"} </b>}
                  {windowText(run)}
                </>
              ),
            },
            { key: "state", header: "State", cell: (run) => <RunState run={run} /> },
            {
              key: "rows",
              header: "Runs",
              align: "right",
              cell: (run) => <Count value={run.metadata.result?.rows_written ?? 0} />,
            },
            {
              key: "bytes",
              header: "Size",
              align: "right",
              cell: (run) => <Bytes value={run.metadata.result?.bytes_written ?? 0} />,
            },
            { key: "files", header: "Files", grow: true, cell: (run) => <Files run={run} /> },
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

function RunState({ run }: { run: ExportRun }) {
  const errors = Object.values(run.errors ?? {});
  return (
    <div className="export-progress">
      <StatusBadge status={run.status === "CREATED" ? "queued" : run.status} />
      {isOpen(run) && <Progress value={run.percentage / 100} label="Written of this day" />}
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

function Files({ run }: { run: ExportRun }) {
  const files = run.metadata.result?.exported_files ?? [];
  if (files.length === 0) return <span className="muted">–</span>;
  return (
    <details className="attempts">
      <summary>{files.length === 1 ? "1 file" : `${files.length} files`}</summary>
      <ul>
        {files.map((file) => (
          <li key={file} className="mono">
            {file}
          </li>
        ))}
      </ul>
    </details>
  );
}
