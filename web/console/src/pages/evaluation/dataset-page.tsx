import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Download, Pencil, Trash2, Upload } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { api } from "../../api/client.ts";
import {
  Button,
  ConfirmDialog,
  ErrorState,
  IconButton,
  Page,
  PageHeader,
  Skeleton,
  Tabs,
  toast,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type Dataset, useDataset } from "./evaluation-api.ts";
import { ExamplesTab } from "./examples-tab.tsx";
import { ExperimentsTab } from "./experiments-tab.tsx";
import { NameDialog } from "./name-dialog.tsx";
import { saveDataset } from "./save-dataset.ts";

const ImportDialog = lazy(() => import("./import-dialog.tsx"));

type Open = "rename" | "delete" | "import" | null;
const tabs = { examples: "Examples", experiments: "Experiments" };
type TabId = keyof typeof tabs;

export function DatasetPage({ id }: { id: string }) {
  const found = useDataset(id);
  const [params] = useSearchParams();
  const [open, setOpen] = useState<Open>(null);
  const dataset = found.data;
  if (found.error && !dataset)
    return (
      <Page title="Dataset">
        <ErrorState error={found.error} retry={() => found.refetch()} />
      </Page>
    );
  if (!dataset)
    return (
      <Page title="Dataset" width="full">
        <Skeleton lines={1} height="2.2rem" />
        <Skeleton lines={6} height="2.4rem" />
      </Page>
    );
  const wanted = params.get("tab") ?? "examples";
  const current: TabId = Object.hasOwn(tabs, wanted) ? (wanted as TabId) : "examples";
  const here = `/datasets/${id}`;
  return (
    <Page title={dataset.name} width="full">
      <PageHeader
        title={dataset.name}
        crumbs={[{ label: "Datasets", href: "/datasets" }]}
        description={dataset.description}
        actions={<Actions dataset={dataset} open={setOpen} />}
      />
      <Tabs
        label="Parts of the dataset"
        current={current}
        tabs={Object.entries(tabs).map(([tab, label]) => ({
          id: tab,
          label,
          href: tab === "examples" ? here : `${here}?tab=${tab}`,
        }))}
      />
      {current === "examples" && <ExamplesTab dataset={dataset} onImport={() => setOpen("import")} />}
      {current === "experiments" && <ExperimentsTab dataset={dataset} />}
      <Suspense>
        {open === "import" && <ImportDialog dataset={dataset} onClose={() => setOpen(null)} />}
      </Suspense>
      {open === "rename" && <Rename dataset={dataset} onClose={() => setOpen(null)} />}
      {open === "delete" && <Delete dataset={dataset} onClose={() => setOpen(null)} />}
    </Page>
  );
}

function Actions({ dataset, open }: { dataset: Dataset; open(what: Open): void }) {
  const mayWrite = useCan("editor");
  const save = useMutation({
    mutationFn: (format: "jsonl" | "csv") => saveDataset(dataset, format),
    onError: (error) => toast.bad(error),
  });
  const isEmpty = dataset.example_count === 0;
  return (
    <>
      {mayWrite && (
        <Button icon={Upload} onClick={() => open("import")}>
          Import
        </Button>
      )}
      <Button icon={Download} busy={save.isPending} disabled={isEmpty} onClick={() => save.mutate("jsonl")}>
        Export JSONL
      </Button>
      <Button icon={Download} busy={save.isPending} disabled={isEmpty} onClick={() => save.mutate("csv")}>
        Export CSV
      </Button>
      {mayWrite && (
        <>
          <IconButton label="Rename the dataset" icon={Pencil} onClick={() => open("rename")} />
          <IconButton label="Delete the dataset" icon={Trash2} onClick={() => open("delete")} />
        </>
      )}
    </>
  );
}

function Rename({ dataset, onClose }: { dataset: Dataset; onClose(): void }) {
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (values: { name: string; description: string }) =>
      api.patch<Dataset>(`/api/v1/datasets/${dataset.id}`, values),
    onSuccess: async () => {
      onClose();
      await client.invalidateQueries({ queryKey: ["datasets"] });
    },
  });
  return (
    <NameDialog
      title="Rename the dataset"
      action="Save"
      start={{ name: dataset.name, description: dataset.description ?? "" }}
      busy={change.isPending}
      error={change.error}
      onClose={onClose}
      onSend={(values) => change.mutate(values)}
    />
  );
}

function Delete({ dataset, onClose }: { dataset: Dataset; onClose(): void }) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  return (
    <ConfirmDialog
      title="Delete the dataset?"
      action="Delete it"
      typeToConfirm={dataset.name}
      onClose={onClose}
      onConfirm={async () => {
        await api.delete(`/api/v1/datasets/${dataset.id}`);
        navigate("/datasets");
        await client.invalidateQueries({ queryKey: ["datasets", "list"] });
      }}
    >
      Its {dataset.example_count.toLocaleString("en-US")} examples go with it, in all versions. The traces of
      its experiments stay. This cannot be undone.
    </ConfirmDialog>
  );
}
