import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { api } from "../../api/client.ts";
import {
  Button,
  Dialog,
  ErrorLine,
  ErrorState,
  Field,
  Skeleton,
  Textarea,
  toast,
  useForm,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type Example, useExample } from "./evaluation-api.ts";
import { ExampleRuns } from "./example-runs.tsx";
import { readObject, writeObject } from "./json-object.ts";

type Props = { datasetId: string; onClose(): void };

/** An example as JSON: a new one, or one that is changed or deleted. */
export default function ExampleDialog({ id, ...props }: Props & { id: string | null }) {
  return id === null ? <ExampleForm {...props} example={null} /> : <Existing {...props} id={id} />;
}

function Existing({ id, ...props }: Props & { id: string }) {
  const found = useExample(id);
  if (found.data) return <ExampleForm {...props} example={found.data} />;
  return (
    <Dialog title="Example" onClose={props.onClose} wide>
      {found.error ? <ErrorState error={found.error} /> : <Skeleton lines={6} />}
    </Dialog>
  );
}

type Values = { inputs: string; outputs: string; metadata: string };
const problemOf = (text: string, optional: boolean) => {
  const read = readObject(text, { optional });
  return "problem" in read ? read.problem : null;
};
const objectIn = (text: string) => {
  const read = readObject(text, { optional: true });
  return "value" in read ? read.value : null;
};

function ExampleForm({ datasetId, example, onClose }: Props & { example: Example | null }) {
  const formId = useId();
  const client = useQueryClient();
  const mayWrite = useCan("editor");
  const refresh = () => client.invalidateQueries({ queryKey: ["datasets"] });
  const leave = () => {
    onClose();
    return refresh();
  };
  const save = useMutation({
    mutationFn: ({ inputs, outputs, metadata }: Values) => {
      const body = { inputs: objectIn(inputs), outputs: objectIn(outputs), metadata: objectIn(metadata) };
      if (example) return api.patch<unknown>(`/api/v1/examples/${example.id}`, body);
      return api.post<unknown>("/api/v1/examples", { dataset_id: datasetId, ...body });
    },
    onSuccess: async () => {
      toast.good(example ? "Example saved." : "Example added.");
      await leave();
    },
  });
  const form = useForm<Values>({
    start: {
      inputs: example ? writeObject(example.inputs) : "{\n  \n}",
      outputs: writeObject(example?.outputs),
      metadata: writeObject(example?.metadata),
    },
    judge: "when changed",
    check: ({ inputs, outputs, metadata }) => ({
      inputs: problemOf(inputs, false),
      outputs: problemOf(outputs, true),
      metadata: problemOf(metadata, true),
    }),
    isBlocked: save.isPending,
    send: (values) => save.mutate(values),
  });
  const area = (name: keyof Values, rows: number) => (
    <Textarea {...form.text(name)} className="mono" rows={rows} spellCheck={false} readOnly={!mayWrite} />
  );
  return (
    <Dialog
      title={example ? `Example ${example.name}` : "New example"}
      onClose={onClose}
      wide
      footer={
        mayWrite && (
          <>
            {example && <DeleteExample id={example.id} onDeleted={leave} />}
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" form={formId} look="primary" busy={save.isPending}>
              {example ? "Save" : "Add example"}
            </Button>
          </>
        )
      }
    >
      <form id={formId} className="stack" onSubmit={form.submit} noValidate>
        <Field label="Input" hint="A JSON object: the input of the target." error={form.problem("inputs")}>
          {area("inputs", 7)}
        </Field>
        <Field
          label="Reference output"
          optional
          hint="A JSON object: the expected output. Evaluators compare with it."
          error={form.problem("outputs")}
        >
          {area("outputs", 6)}
        </Field>
        <Field label="Metadata" optional error={form.problem("metadata")}>
          {area("metadata", 3)}
        </Field>
        <ErrorLine error={save.error} />
      </form>
      {example && <ExampleRuns datasetId={datasetId} exampleId={example.id} />}
    </Dialog>
  );
}

function DeleteExample({ id, onDeleted }: { id: string; onDeleted(): Promise<void> }) {
  const [isAsking, setIsAsking] = useState(false);
  const remove = useMutation({
    mutationFn: () => api.delete(`/api/v1/examples/${id}`),
    onSuccess: onDeleted,
    onError: (error) => toast.bad(error),
  });
  return (
    <Button
      look="danger"
      className="first"
      busy={remove.isPending}
      onClick={() => (isAsking ? remove.mutate() : setIsAsking(true))}
    >
      {isAsking ? "Delete it permanently" : "Delete"}
    </Button>
  );
}
