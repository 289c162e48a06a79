import { MessagesSquare } from "lucide-react";
import { Link, useSearchParams } from "wouter";
import {
  EmptyState,
  Input,
  ListState,
  SearchInput,
  Select,
  ShowMore,
  StatusBadge,
  Table,
  Time,
} from "../../ui/index.ts";
import { type AgentServer, type Thread, threadHref, useThreads } from "./agent-api.ts";
import { readMetadata } from "./metadata-filter.ts";
import { titleOf } from "./thread-title.ts";

const statuses = [
  { value: "", label: "Every status" },
  { value: "idle", label: "Idle" },
  { value: "busy", label: "Busy" },
  { value: "interrupted", label: "Waits for a person" },
  { value: "error", label: "Failed" },
];

export function ThreadsTab({ server }: { server: AgentServer }) {
  const [params, setParams] = useSearchParams();
  const status = params.get("status") ?? "";
  const search = params.get("search") ?? "";
  const metadata = params.get("metadata") ?? "";
  const filter = readMetadata(metadata);
  const found = useThreads(server, { status, search, metadata: filter.metadata });
  const change = (name: string, value: string) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        if (value === "") next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  return (
    <>
      <div className="row thread-filters">
        <SearchInput
          label="Find threads by their text, or by id"
          value={search}
          onChange={(text) => change("search", text)}
        />
        <Input
          className="metadata-filter"
          aria-label="Metadata"
          aria-invalid={filter.problem !== null || undefined}
          placeholder="Metadata: user=ann"
          value={metadata}
          onChange={(event) => change("metadata", event.target.value)}
        />
        <Select
          aria-label="Status"
          options={statuses}
          value={status}
          onChange={(event) => change("status", event.target.value)}
        />
      </div>
      {filter.problem && <p className="field-error">{filter.problem}</p>}
      <ListState
        of={found}
        rows={found.data?.pages.flat()}
        lines={5}
        height="3rem"
        empty={<NoThreads filtered={status !== "" || search !== "" || metadata !== ""} />}
      >
        {(rows) => (
          <>
            <Table
              label="Threads"
              rows={rows}
              rowKey={({ thread_id }) => thread_id}
              href={(row) => threadHref(server, row.thread_id)}
              columns={[
                {
                  key: "thread",
                  header: "Thread",
                  grow: true,
                  cell: (row: Thread) => (
                    <Link href={threadHref(server, row.thread_id)} className="thread-title">
                      {titleOf(row) ?? row.thread_id}
                    </Link>
                  ),
                },
                { key: "graph", header: "Graph", wideOnly: true, cell: (row) => <GraphName thread={row} /> },
                { key: "status", header: "Status", cell: (row) => <StatusBadge status={row.status} /> },
                {
                  key: "changed",
                  header: "Changed",
                  align: "right",
                  cell: (row) => <Time at={row.updated_at} />,
                },
              ]}
            />
            <ShowMore of={found} />
          </>
        )}
      </ListState>
    </>
  );
}

function GraphName({ thread }: { thread: Thread }) {
  const graph = thread.metadata.graph_id;
  return typeof graph === "string" ? <code>{graph}</code> : <span className="muted">–</span>;
}

function NoThreads({ filtered }: { filtered: boolean }) {
  if (filtered)
    return <EmptyState title="No threads match">Change the words, the metadata or the status.</EmptyState>;
  return (
    <EmptyState icon={MessagesSquare} title="No threads yet">
      A thread keeps messages and state. Start one with <b>New thread</b>, or run an assistant with the SDK.
    </EmptyState>
  );
}
