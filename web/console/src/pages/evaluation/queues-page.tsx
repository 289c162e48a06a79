import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ListChecks, Plus } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import {
  Button,
  type Column,
  Count,
  EmptyState,
  ListState,
  Page,
  PageHeader,
  ShowMore,
  Table,
  Time,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type AnnotationQueue, createQueue, useQueues } from "./evaluation-api.ts";
import { EvaluationTabs } from "./evaluation-tabs.tsx";
import { QueueDialog } from "./queue-dialog.tsx";

export function QueuesPage() {
  const found = useQueues();
  const mayWrite = useCan("editor");
  const [isMaking, setIsMaking] = useState(false);
  const make = mayWrite && (
    <Button look="primary" icon={Plus} onClick={() => setIsMaking(true)}>
      New queue
    </Button>
  );
  return (
    <Page title="Annotation queues">
      <PageHeader
        title="Evaluation"
        description="Runs that people review, one after another."
        actions={make}
      />
      <EvaluationTabs current="queues" />
      <ListState
        of={found}
        rows={found.data?.pages.flat()}
        lines={3}
        height="3.2rem"
        empty={
          <EmptyState icon={ListChecks} title="No annotation queues yet" action={make}>
            Create one, then add runs to it: from a trace, or from runs you choose in a project.
          </EmptyState>
        }
      >
        {(queues) => (
          <Table
            label="Annotation queues"
            rows={queues}
            rowKey={({ id }) => id}
            href={({ id }) => `/queues/${id}`}
            columns={columns}
          />
        )}
      </ListState>
      <ShowMore of={found} />
      {isMaking && <NewQueue onClose={() => setIsMaking(false)} />}
    </Page>
  );
}

const columns: readonly Column<AnnotationQueue>[] = [
  {
    key: "name",
    header: "Name",
    grow: true,
    cell: ({ id, name }) => <Link href={`/queues/${id}`}>{name}</Link>,
  },
  {
    key: "description",
    header: "Description",
    wideOnly: true,
    cell: ({ description }) => <span className="muted clamp-one">{description}</span>,
  },
  { key: "runs", header: "Items", align: "right", cell: ({ total_runs }) => <Count value={total_runs} /> },
  {
    key: "created",
    header: "Made",
    align: "right",
    cell: ({ created_at }) => <Time at={created_at} />,
  },
];

function NewQueue({ onClose }: { onClose(): void }) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const make = useMutation({
    mutationFn: createQueue,
    onSuccess: async ({ id }) => {
      navigate(`/queues/${id}`);
      await client.invalidateQueries({ queryKey: ["queues"] });
    },
  });
  return (
    <QueueDialog
      title="New annotation queue"
      action="Make it"
      busy={make.isPending}
      error={make.error}
      onClose={onClose}
      onSend={(queue) => make.mutate(queue)}
    />
  );
}
