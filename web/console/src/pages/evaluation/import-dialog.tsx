import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api } from "../../api/client.ts";
import { Button, Dialog, ErrorLine, Field, formatBytes, Input, Select, toast } from "../../ui/index.ts";
import type { Dataset } from "./evaluation-api.ts";
import {
  type ColumnUse,
  guessUse,
  type ImportedExample,
  maxImportBytes,
  maxImportRows,
  type ReadFile,
  readImport,
  toExamples,
} from "./import-file.ts";
import { valueText } from "./value-text.ts";

const shown = 5;
const uses = [
  { value: "inputs", label: "Input" },
  { value: "outputs", label: "Reference output" },
  { value: "metadata", label: "Metadata" },
  { value: "none", label: "Leave out" },
];

/** A file is read here, shown, and sent in one request: all of it is added, or nothing. */
export default function ImportDialog({ dataset, onClose }: { dataset: Dataset; onClose(): void }) {
  const client = useQueryClient();
  const [read, setRead] = useState<ReadFile | null>(null);
  const [chosen, setChosen] = useState<Readonly<Record<string, ColumnUse>>>({});
  const examples = useMemo(() => examplesOf(read, chosen), [read, chosen]);
  const problem = read?.kind === "fault" ? read.message : examples ? problemOf(examples) : null;
  const choose = async (file: File | undefined) => {
    const next = file ? await readFile(file) : null;
    setRead(next);
    if (next?.kind === "columns")
      setChosen(Object.fromEntries(next.columns.map((column) => [column, guessUse(column)])));
  };
  const send = useMutation({
    mutationFn: (added: readonly ImportedExample[]) =>
      api.post(
        "/api/v1/examples/bulk",
        added.map((example) => ({ dataset_id: dataset.id, ...example })),
      ),
    onSuccess: async (_, added) => {
      toast.good(`${countOf(added.length)} added.`);
      onClose();
      await client.invalidateQueries({ queryKey: ["datasets"] });
    },
  });
  return (
    <Dialog
      title="Import examples"
      onClose={onClose}
      wide
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            busy={send.isPending}
            disabled={!examples || problem !== null}
            onClick={() => examples && send.mutate(examples)}
          >
            {examples && problem === null ? `Add ${countOf(examples.length)}` : "Add"}
          </Button>
        </>
      }
    >
      <div className="stack">
        <Field
          label="CSV or JSON Lines file"
          hint={`At most ${formatBytes(maxImportBytes)} and ${maxImportRows.toLocaleString("en-US")} rows. A line of JSON Lines is {"inputs": {…}, "outputs": {…}}, or an object whose fields you sort below.`}
          error={problem}
        >
          <Input
            type="file"
            accept=".csv,.jsonl,.ndjson,.json"
            onChange={(event) => void choose(event.target.files?.[0])}
          />
        </Field>
        {read?.kind === "columns" && (
          <div className="import-columns">
            {read.columns.map((column) => (
              <Field key={column} label={column}>
                <Select
                  value={chosen[column]}
                  options={uses}
                  onChange={(event) => setChosen({ ...chosen, [column]: event.target.value as ColumnUse })}
                />
              </Field>
            ))}
          </div>
        )}
        {examples && problem === null && <Preview examples={examples} />}
        <ErrorLine error={send.error} />
      </div>
    </Dialog>
  );
}

async function readFile(file: File): Promise<ReadFile> {
  if (file.size > maxImportBytes)
    return {
      kind: "fault",
      message: `The file has ${formatBytes(file.size)}; at most ${formatBytes(maxImportBytes)} can be added at once. Split it into parts.`,
    };
  return readImport(file.name, await file.text());
}

function examplesOf(read: ReadFile | null, chosen: Readonly<Record<string, ColumnUse>>) {
  if (read?.kind === "whole") return read.examples;
  return read?.kind === "columns" ? toExamples(read.rows, chosen) : null;
}

/** An example without an input measures nothing. */
function problemOf(examples: readonly ImportedExample[]): string | null {
  const hasInputs = examples.some(({ inputs }) => Object.keys(inputs).length > 0);
  return hasInputs ? null : "Choose at least one column as input.";
}

const countOf = (count: number) => (count === 1 ? "1 example" : `${count.toLocaleString("en-US")} examples`);

function Preview({ examples }: { examples: readonly ImportedExample[] }) {
  return (
    <div className="table-box">
      <table className="table" aria-label="What will be added">
        <thead>
          <tr>
            <th scope="col">Input</th>
            <th scope="col">Reference output</th>
          </tr>
        </thead>
        <tbody>
          {examples.slice(0, shown).map(({ inputs, outputs }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of a file that was read
            <tr key={index}>
              <td data-label="Input">
                <span className="clamp-two">{valueText(inputs)}</span>
              </td>
              <td data-label="Reference output">
                <span className="clamp-two">{valueText(outputs) || "–"}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {examples.length > shown && (
        <p className="muted import-more">and {countOf(examples.length - shown)} more</p>
      )}
    </div>
  );
}
