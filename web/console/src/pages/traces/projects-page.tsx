import { Activity } from "lucide-react";
import { Link, useSearchParams } from "wouter";
import {
  type Column,
  Count,
  EmptyState,
  formatDuration,
  ListState,
  Money,
  Page,
  PageHeader,
  SearchInput,
  Table,
  Tabs,
  Time,
} from "../../ui/index.ts";
import { Sparkline } from "./sparkline.tsx";
import { type Project, useProjects } from "./trace-api.ts";

export function ProjectsPage() {
  const [params, setParams] = useSearchParams();
  const found = useProjects();
  const search = params.get("q") ?? "";
  const tab = params.get("tab") === "experiments" ? "experiments" : "projects";
  const all = found.data ?? [];
  const ofTab = all.filter((project) => (project.reference_dataset_id !== null) === (tab === "experiments"));
  const rows = ofTab.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()));
  const hasExperiments = all.some((project) => project.reference_dataset_id !== null);
  const setSearch = (text: string) =>
    setParams(
      (now) => {
        if (text === "") now.delete("q");
        else now.set("q", text);
        return now;
      },
      { replace: true },
    );
  return (
    <Page title="Traces">
      <PageHeader
        title="Traces"
        description="What your agents did, step by step, with time, tokens, cost and errors."
      />
      {(hasExperiments || tab === "experiments") && (
        <Tabs
          label="Kinds of projects"
          current={tab}
          tabs={[
            { id: "projects", label: "Projects", href: "/traces" },
            { id: "experiments", label: "Experiments", href: "/traces?tab=experiments" },
          ]}
        />
      )}
      {(ofTab.length > 5 || search !== "") && (
        <SearchInput label="Search by name" value={search} onChange={setSearch} />
      )}
      <ListState
        of={found}
        rows={found.data && rows}
        lines={4}
        height="3.2rem"
        empty={
          ofTab.length === 0 ? (
            <NoProjects />
          ) : (
            <EmptyState title="No project has this name">Change the search, or clear it.</EmptyState>
          )
        }
      >
        {() => (
          <Table
            label={tab === "experiments" ? "Experiments" : "Projects"}
            rows={rows}
            rowKey={({ id }) => id}
            href={({ id }) => `/traces/${id}`}
            columns={tab === "experiments" ? experimentColumns : projectColumns}
          />
        )}
      </ListState>
    </Page>
  );
}

const name: Column<Project> = {
  key: "name",
  header: "Name",
  grow: true,
  cell: ({ id, name: text }) => <Link href={`/traces/${id}`}>{text}</Link>,
};
const runs: Column<Project> = {
  key: "runs",
  header: "Traces",
  align: "right",
  cell: ({ run_count }) => <Count value={run_count} />,
};
const errors: Column<Project> = {
  key: "errors",
  header: "Errors",
  align: "right",
  cell: ({ error_rate }) => <Share value={error_rate} />,
};
const latency: Column<Project> = {
  key: "latency",
  header: "p50 / p99",
  align: "right",
  cell: ({ latency_p50, latency_p99 }) => (
    <span className="number nowrap">
      {seconds(latency_p50)} / {seconds(latency_p99)}
    </span>
  ),
};
const tokens: Column<Project> = {
  key: "tokens",
  header: "Tokens",
  align: "right",
  cell: ({ total_tokens }) => <Count value={total_tokens} />,
};
const cost: Column<Project> = {
  key: "cost",
  header: "Cost",
  align: "right",
  cell: ({ total_cost }) => <Money value={total_cost} />,
};

const projectColumns: readonly Column<Project>[] = [
  name,
  { key: "day", header: "Last day", wideOnly: true, cell: ({ id }) => <Sparkline projectId={id} /> },
  runs,
  errors,
  latency,
  tokens,
  cost,
  {
    key: "last",
    header: "Last trace",
    align: "right",
    cell: ({ last_run_start_time }) => <Time at={last_run_start_time} />,
  },
];

const experimentColumns: readonly Column<Project>[] = [
  name,
  { key: "scores", header: "Scores", cell: ({ feedback_stats }) => <Scores stats={feedback_stats} /> },
  runs,
  errors,
  latency,
  tokens,
  cost,
  { key: "begun", header: "Begun", align: "right", cell: ({ start_time }) => <Time at={start_time} /> },
];

function Scores({ stats }: { stats: Project["feedback_stats"] }) {
  const given = Object.entries(stats ?? {}).filter(([, { avg }]) => avg !== null);
  if (given.length === 0) return <span className="muted">–</span>;
  return (
    <span className="row">
      {given.slice(0, 4).map(([key, { avg, n }]) => (
        <span key={key} className="badge" title={`${n} given`}>
          {key} {avg!.toFixed(2)}
        </span>
      ))}
    </span>
  );
}

function Share({ value }: { value: number | null | undefined }) {
  if (value === null || value === undefined) return <span className="muted">–</span>;
  if (value === 0) return <span className="number muted">0 %</span>;
  return <span className="number error-share">{(value * 100).toFixed(value < 0.1 ? 1 : 0)} %</span>;
}

function seconds(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : formatDuration(value * 1_000);
}

function NoProjects() {
  return (
    <EmptyState icon={Activity} title="No traces yet">
      <p>
        Every run of an agent here is traced by itself. To trace your own code, point the LangSmith SDK at
        this server:
      </p>
      <pre className="snippet">{`LANGSMITH_TRACING=true\nLANGSMITH_ENDPOINT=${location.origin}/api/v1\nLANGSMITH_API_KEY=<your key>`}</pre>
    </EmptyState>
  );
}
