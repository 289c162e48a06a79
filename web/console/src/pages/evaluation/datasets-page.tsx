import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Database, Plus } from "lucide-react";
import { useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import {
  Button,
  type Column,
  Count,
  EmptyState,
  ListState,
  Page,
  PageHeader,
  SearchInput,
  ShowMore,
  Table,
  Time,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { createDataset, type Dataset, useDatasets } from "./evaluation-api.ts";
import { EvaluationTabs } from "./evaluation-tabs.tsx";
import { NameDialog } from "./name-dialog.tsx";

export function DatasetsPage() {
  const [params, setParams] = useSearchParams();
  const search = params.get("q") ?? "";
  const found = useDatasets(search);
  const rows = found.data?.pages.flat();
  const mayWrite = useCan("editor");
  const [isMaking, setIsMaking] = useState(false);
  const make = mayWrite && (
    <Button look="primary" icon={Plus} onClick={() => setIsMaking(true)}>
      New dataset
    </Button>
  );
  return (
    <Page title="Evaluation">
      <PageHeader
        title="Evaluation"
        description="Examples to measure agents with, the results of experiments, and reviews by people."
        actions={make}
      />
      <EvaluationTabs current="datasets" />
      {((rows?.length ?? 0) > 5 || search !== "") && (
        <SearchInput
          label="Search by name"
          value={search}
          onChange={(text) => setParams(text === "" ? {} : { q: text }, { replace: true })}
        />
      )}
      <ListState
        of={found}
        rows={rows}
        lines={4}
        height="3.2rem"
        empty={
          search === "" ? (
            <EmptyState icon={Database} title="No datasets yet" action={make}>
              <p>
                A dataset has examples: an input and the expected output. Create one here, add runs to one
                from a trace, or create one with the <code>langsmith</code> SDK.
              </p>
            </EmptyState>
          ) : (
            <EmptyState title="No dataset has this name">Change the search, or clear it.</EmptyState>
          )
        }
      >
        {(datasets) => (
          <Table
            label="Datasets"
            rows={datasets}
            rowKey={({ id }) => id}
            href={({ id }) => `/datasets/${id}`}
            columns={columns}
          />
        )}
      </ListState>
      <ShowMore of={found} />
      {isMaking && <NewDataset onClose={() => setIsMaking(false)} />}
    </Page>
  );
}

const columns: readonly Column<Dataset>[] = [
  {
    key: "name",
    header: "Name",
    grow: true,
    cell: ({ id, name }) => <Link href={`/datasets/${id}`}>{name}</Link>,
  },
  {
    key: "description",
    header: "Description",
    wideOnly: true,
    cell: ({ description }) => <span className="muted clamp-one">{description}</span>,
  },
  {
    key: "examples",
    header: "Examples",
    align: "right",
    cell: ({ example_count }) => <Count value={example_count} />,
  },
  {
    key: "experiments",
    header: "Experiments",
    align: "right",
    cell: ({ session_count }) => <Count value={session_count} />,
  },
  {
    key: "modified",
    header: "Changed",
    align: "right",
    cell: ({ modified_at }) => <Time at={modified_at} />,
  },
];

function NewDataset({ onClose }: { onClose(): void }) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const make = useMutation({
    mutationFn: ({ name, description }: { name: string; description: string }) =>
      createDataset(name, description),
    onSuccess: async ({ id }) => {
      navigate(`/datasets/${id}`);
      await client.invalidateQueries({ queryKey: ["datasets"] });
    },
  });
  return (
    <NameDialog
      title="New dataset"
      action="Make it"
      busy={make.isPending}
      error={make.error}
      onClose={onClose}
      onSend={(values) => make.mutate(values)}
    />
  );
}
