import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../api/client.ts";
import {
  ConfirmDialog,
  EmptyState,
  ErrorState,
  IconButton,
  Page,
  PageHeader,
  Skeleton,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import {
  type AnnotationQueue,
  type NewQueue,
  useQueue,
  useQueueCounts,
  useQueueHead,
} from "./evaluation-api.ts";
import { QueueDialog } from "./queue-dialog.tsx";
import { Review } from "./review.tsx";

/** A queue is worked through here: the next item, what is thought of it, and on. */
export function QueuePage({ id }: { id: string }) {
  const queue = useQueue(id);
  const head = useQueueHead(id);
  const counts = useQueueCounts(id);
  const mayWrite = useCan("editor");
  const [open, setOpen] = useState<"change" | "delete" | null>(null);
  const error = queue.error ?? head.error;
  if (error && (!queue.data || !head.data))
    return (
      <Page title="Annotation queue">
        <ErrorState error={error} retry={() => (queue.error ? queue.refetch() : head.refetch())} />
      </Page>
    );
  if (!queue.data || !head.data)
    return (
      <Page title="Annotation queue" width="full">
        <Skeleton lines={1} height="2.2rem" />
        <Skeleton lines={6} height="2.4rem" />
      </Page>
    );
  const [item, following] = head.data;
  return (
    <Page title={queue.data.name} width="full">
      <PageHeader
        title={queue.data.name}
        crumbs={[{ label: "Annotation queues", href: "/queues" }]}
        description={queue.data.description}
        actions={
          mayWrite && (
            <>
              <IconButton label="Change the queue" icon={Pencil} onClick={() => setOpen("change")} />
              <IconButton label="Delete the queue" icon={Trash2} onClick={() => setOpen("delete")} />
            </>
          )
        }
      />
      {counts.data && <Progress total={counts.data.total} left={counts.data.left} />}
      {item ? (
        <Review
          key={`${item.id} ${item.effective_added_at}`}
          queue={queue.data}
          item={item}
          following={following}
          mayWrite={mayWrite}
        />
      ) : (
        <EmptyState title={counts.data?.total === 0 ? "The queue is empty" : "All done"}>
          {counts.data?.total === 0
            ? "Add runs to it: from a trace, or from runs you choose in a project."
            : "You have reviewed everything in this queue. Your reviews are feedback of the runs."}
        </EmptyState>
      )}
      {open === "change" && <Change queue={queue.data} onClose={() => setOpen(null)} />}
      {open === "delete" && <Delete queue={queue.data} onClose={() => setOpen(null)} />}
    </Page>
  );
}

function Progress({ total, left }: { total: number; left: number }) {
  if (total === 0) return null;
  return (
    <div className="queue-progress">
      <progress aria-label="Done by you" value={total - left} max={total} />
      <span role="status">
        {(total - left).toLocaleString("en-US")} of {total.toLocaleString("en-US")} done by you
      </span>
    </div>
  );
}

function Change({ queue, onClose }: { queue: AnnotationQueue; onClose(): void }) {
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (values: NewQueue) => api.patch(`/api/v1/annotation-queues/${queue.id}`, values),
    onSuccess: async () => {
      onClose();
      await client.invalidateQueries({ queryKey: ["queues"] });
    },
  });
  return (
    <QueueDialog
      title="Change the queue"
      action="Save"
      queue={queue}
      busy={change.isPending}
      error={change.error}
      onClose={onClose}
      onSend={(values) => change.mutate(values)}
    />
  );
}

function Delete({ queue, onClose }: { queue: AnnotationQueue; onClose(): void }) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  return (
    <ConfirmDialog
      title="Delete the queue?"
      action="Delete it"
      onClose={onClose}
      onConfirm={async () => {
        await api.delete(`/api/v1/annotation-queues/${queue.id}`);
        navigate("/queues");
        await client.invalidateQueries({ queryKey: ["queues", "list"] });
      }}
    >
      The record of who reviewed what is deleted. The runs and their feedback stay.
    </ConfirmDialog>
  );
}
