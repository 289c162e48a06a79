import { useMutation } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useEffect, useRef } from "react";
import {
  Button,
  Bytes,
  CopyButton,
  Count,
  EmptyState,
  ErrorLine,
  ListState,
  Section,
  ShowMore,
  Table,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import {
  type BulkExport,
  createFileLink,
  type ExportFile,
  type ExportRun,
  isOpen,
  useExportFiles,
  useProjectNames,
} from "./export-api.ts";
import { fileName, windowText } from "./export-words.ts";

/** The single files of an export, or of one of its days. */
export function FilesSection({
  row,
  chosen,
  showAll,
}: {
  row: BulkExport;
  chosen: ExportRun | null;
  showAll(): void;
}) {
  const found = useExportFiles(row.id, chosen?.id ?? null);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (chosen) box.current?.scrollIntoView({ block: "start" });
  }, [chosen]);
  return (
    <div ref={box}>
      <Section
        title={chosen ? `Files of ${windowText(chosen)}` : "Files"}
        actions={
          chosen && (
            <Button size="small" onClick={showAll}>
              Files of all days
            </Button>
          )
        }
      >
        <ListState
          of={found}
          rows={found.data?.pages.flatMap(({ files }) => files)}
          lines={3}
          height="2.6rem"
          empty={
            <EmptyState title={isOpen(row) ? "No file is written yet" : "No file was written"}>
              {!isOpen(row) &&
                (row.error ? "The export failed before that." : "Days without runs have no file.")}
            </EmptyState>
          }
        >
          {(files) => (
            <div className="stack">
              <FilesTable exportId={row.id} files={files} />
              <ShowMore of={found} words="Show more files" />
            </div>
          )}
        </ListState>
      </Section>
    </div>
  );
}

function FilesTable({ exportId, files }: { exportId: string; files: readonly ExportFile[] }) {
  const mayDownload = useCan("admin");
  const names = useProjectNames(files.map(({ session_id }) => session_id));
  const several = names.size > 1;
  const download = useMutation({ mutationFn: (file: ExportFile) => startDownload(exportId, file) });
  return (
    <>
      <ErrorLine error={download.error} />
      <Table
        label="Files"
        rows={files}
        rowKey={({ key }) => key}
        columns={[
          {
            key: "window",
            header: "Time (UTC)",
            cell: (file: ExportFile) => (
              <>
                {several && <b>{names.get(file.session_id) ?? "Project"} </b>}
                {windowText(file)}
              </>
            ),
          },
          {
            key: "name",
            header: "File",
            grow: true,
            cell: (file) => (
              <code className="nowrap" title={file.uri}>
                {fileName(file)}
              </code>
            ),
          },
          { key: "rows", header: "Runs", align: "right", cell: (file) => <Count value={file.rows} /> },
          { key: "bytes", header: "Size", align: "right", cell: (file) => <Bytes value={file.bytes} /> },
          {
            key: "actions",
            header: <span className="spoken">Actions</span>,
            align: "right",
            cell: (file) => (
              <div className="row file-actions">
                <CopyButton
                  text={file.uri}
                  words="Copy path"
                  label={`Copy path of ${windowText(file)} ${fileName(file)}`}
                  look="quiet"
                />
                {mayDownload && (
                  <Button
                    size="small"
                    icon={Download}
                    aria-label={`Download ${windowText(file)} ${fileName(file)}`}
                    busy={download.isPending && download.variables === file}
                    onClick={() => download.mutate(file)}
                  >
                    Download
                  </Button>
                )}
              </div>
            ),
          },
        ]}
      />
    </>
  );
}

/** In a tab of its own, which closes when the download begins: a storage that this browser cannot reach says so there. */
async function startDownload(exportId: string, file: ExportFile): Promise<void> {
  const { url } = await createFileLink(exportId, file);
  const link = document.createElement("a");
  link.href = url;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  link.click();
}
