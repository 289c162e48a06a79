import { FilePlus2, Plus, Upload } from "lucide-react";
import { lazy, Suspense } from "react";
import { Link, useSearchParams } from "wouter";
import { Badge, Button, type Column, EmptyState, ListState, ShowMore, Table, Time } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type Dataset, type Example, useExamples } from "./evaluation-api.ts";
import { isObject } from "./json-object.ts";
import { valueText } from "./value-text.ts";

const ExampleDialog = lazy(() => import("./example-dialog.tsx"));

/** What is open is in the address: `?example=<id>`, or `new`. */
export function ExamplesTab({ dataset, onImport }: { dataset: Dataset; onImport(): void }) {
  const [params, setParams] = useSearchParams();
  const found = useExamples(dataset.id);
  const rows = found.data?.pages.flat();
  const mayWrite = useCan("editor");
  const openId = params.get("example");
  const add = (
    <Button look="primary" icon={Plus} onClick={() => setParams({ example: "new" })}>
      New example
    </Button>
  );
  return (
    <>
      {mayWrite && (rows?.length ?? 0) > 0 && <div className="row">{add}</div>}
      <ListState
        of={found}
        rows={rows}
        lines={6}
        height="2.6rem"
        empty={
          <EmptyState
            icon={FilePlus2}
            title="No examples yet"
            action={
              mayWrite && (
                <>
                  {add}
                  <Button icon={Upload} onClick={onImport}>
                    Import a file
                  </Button>
                </>
              )
            }
          >
            Write one, import a CSV or JSON Lines file, or choose runs in a project and add them.
          </EmptyState>
        }
      >
        {(examples) => (
          <Table
            label="Examples"
            rows={examples}
            rowKey={({ id }) => id}
            href={({ id }) => `/datasets/${dataset.id}?example=${id}`}
            columns={columns(dataset.id)}
          />
        )}
      </ListState>
      <ShowMore of={found} />
      {openId !== null && (
        <Suspense>
          <ExampleDialog
            key={openId}
            datasetId={dataset.id}
            id={openId === "new" ? null : openId}
            onClose={() => setParams({})}
          />
        </Suspense>
      )}
    </>
  );
}

const columns = (datasetId: string): readonly Column<Example>[] => [
  {
    key: "inputs",
    header: "Input",
    grow: true,
    cell: ({ id, inputs }) => (
      <Link className="clamp-two" href={`/datasets/${datasetId}?example=${id}`}>
        {valueText(inputs) || "{}"}
      </Link>
    ),
  },
  {
    key: "outputs",
    header: "Reference output",
    cell: ({ outputs }) => <span className="clamp-two wide-cell">{valueText(outputs) || "–"}</span>,
  },
  { key: "split", header: "Split", wideOnly: true, cell: ({ metadata }) => <Splits metadata={metadata} /> },
  {
    key: "source",
    header: "From",
    cell: ({ source_run_id }) =>
      source_run_id === null ? (
        <span className="muted">–</span>
      ) : (
        <Link href={`/traces/run/r/${source_run_id}`}>Trace</Link>
      ),
  },
  {
    key: "modified",
    header: "Changed",
    align: "right",
    cell: ({ modified_at }) => <Time at={modified_at} />,
  },
];

/** `base` is the split of examples that have none. */
function Splits({ metadata }: { metadata: unknown }) {
  const splits = isObject(metadata) && Array.isArray(metadata.dataset_split) ? metadata.dataset_split : [];
  const shown = splits.map(String).filter((split) => split !== "base");
  if (shown.length === 0) return <span className="muted">–</span>;
  return (
    <span className="row">
      {shown.map((split) => (
        <Badge key={split}>{split}</Badge>
      ))}
    </span>
  );
}
