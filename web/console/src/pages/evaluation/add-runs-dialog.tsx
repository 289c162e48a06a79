import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button, Dialog, ErrorLine, Field, Input, Select, Skeleton, toast } from "../../ui/index.ts";
import {
  addRunsToDataset,
  addRunsToQueue,
  createDataset,
  createQueue,
  useDatasets,
  useQueues,
} from "./evaluation-api.ts";

export type AddRunsTarget = "dataset" | "queue";
type Props = { runIds: readonly string[]; onClose(): void; onAdded?: (() => void) | undefined };

const isNew = "";
const words = {
  dataset: { title: "Add to a dataset", label: "Dataset", fresh: "A new dataset" },
  queue: { title: "Add to an annotation queue", label: "Queue", fresh: "A new queue" },
};

/** Puts runs into a dataset or a queue that is there, or into a new one. */
export default function AddRunsDialog({ to, ...props }: Props & { to: AddRunsTarget }) {
  return to === "dataset" ? <ToDataset {...props} /> : <ToQueue {...props} />;
}

function ToDataset(props: Props) {
  const found = useDatasets("");
  return (
    <Choose
      {...props}
      of="dataset"
      known={found.data?.pages[0]}
      error={found.error}
      add={async (id, name) => {
        const target = id === isNew ? (await createDataset(name)).id : id;
        await addRunsToDataset(target, props.runIds);
      }}
    />
  );
}

function ToQueue(props: Props) {
  const found = useQueues();
  return (
    <Choose
      {...props}
      of="queue"
      known={found.data?.pages[0]}
      error={found.error}
      add={async (id, name) => {
        const target = id === isNew ? (await createQueue({ name })).id : id;
        await addRunsToQueue(target, props.runIds);
      }}
    />
  );
}

type ChooseProps = Props & {
  of: AddRunsTarget;
  known: readonly { id: string; name: string }[] | undefined;
  error: unknown;
  add(id: string, newName: string): Promise<void>;
};

function Choose({ of, known, error, runIds, add, onClose, onAdded }: ChooseProps) {
  const { title, label, fresh } = words[of];
  const client = useQueryClient();
  const [chosen, setChosen] = useState<string | null>(null);
  const [name, setName] = useState("");
  const target = chosen ?? known?.[0]?.id ?? isNew;
  const isReady = known !== undefined && (target !== isNew || name.trim() !== "");
  const count = runIds.length === 1 ? "1 run" : `${runIds.length.toLocaleString("en-US")} runs`;
  const adding = useMutation({
    mutationFn: () => add(target, name.trim()),
    onSuccess: async () => {
      const into = target === isNew ? name.trim() : known?.find(({ id }) => id === target)?.name;
      toast.good(`${count} added to ${into}.`);
      onAdded?.();
      onClose();
      await client.invalidateQueries({ queryKey: [of === "dataset" ? "datasets" : "queues"] });
    },
  });
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={adding.isPending} disabled={!isReady} onClick={() => adding.mutate()}>
            Add {count}
          </Button>
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !adding.isPending) adding.mutate();
        }}
      >
        {known === undefined && !error && <Skeleton lines={1} height="2.2rem" />}
        {known && (
          <Field label={label}>
            <Select
              value={target}
              onChange={(event) => setChosen(event.target.value)}
              options={[
                ...known.map((each) => ({ value: each.id, label: each.name })),
                { value: isNew, label: `${fresh}…` },
              ]}
            />
          </Field>
        )}
        {known && target === isNew && (
          <Field label={`Name of the new ${of}`}>
            <Input value={name} maxLength={500} onChange={(event) => setName(event.target.value)} />
          </Field>
        )}
        <ErrorLine error={adding.error ?? error} />
      </form>
    </Dialog>
  );
}
