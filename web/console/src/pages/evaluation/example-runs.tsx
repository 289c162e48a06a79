import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api } from "../../api/client.ts";
import type { TraceRun, TraceRunPage } from "../../api/wire.ts";
import { Duration, ErrorLine, Skeleton, StatusBadge, Table, Time } from "../../ui/index.ts";
import type { Experiment } from "./evaluation-api.ts";
import { ScoreBadges } from "./score-badges.tsx";
import { valueText } from "./value-text.ts";

const shown = 20;
const fields = [
  "name",
  "status",
  "start_time",
  "session_id",
  "outputs",
  "error",
  "latency",
  "feedback_stats",
];

/** Of experiments alone: the runs of evaluators name the example too. */
function useRunsOfExample(datasetId: string, exampleId: string) {
  return useQuery({
    queryKey: ["traces", "runs of example", exampleId],
    queryFn: async ({ signal }) => {
      const path = `/api/v1/sessions?reference_dataset=${datasetId}&limit=100`;
      const experiments = await api.get<Experiment[]>(path, { signal });
      const names = new Map(experiments.map(({ id, name }) => [id, name]));
      if (names.size === 0) return { runs: [], names };
      const asked = { reference_example: [exampleId], session: [...names.keys()], is_root: true };
      const { runs } = await api.post<TraceRunPage>(
        "/api/v1/runs/query",
        { ...asked, limit: shown, select: fields },
        { signal },
      );
      return { runs, names };
    },
  });
}

/** What the dataset's experiments made of an example, the newest first. */
export function ExampleRuns({ datasetId, exampleId }: { datasetId: string; exampleId: string }) {
  const found = useRunsOfExample(datasetId, exampleId);
  const { runs, names } = found.data ?? { runs: [], names: new Map<string, string>() };
  return (
    <section className="stack" aria-label="Runs in experiments">
      <h3>Runs in experiments</h3>
      <ErrorLine error={found.error} />
      {found.isPending && <Skeleton lines={2} />}
      {found.data && runs.length === 0 && <p className="muted">No experiment has run this example yet.</p>}
      {runs.length > 0 && (
        <Table
          label="Runs in experiments"
          rows={runs}
          rowKey={({ id }) => id}
          columns={[
            {
              key: "experiment",
              header: "Experiment",
              cell: ({ session_id }: TraceRun) => (
                <Link href={`/traces/${session_id}?range=all`}>{names.get(session_id) ?? "Experiment"}</Link>
              ),
            },
            { key: "output", header: "Output", grow: true, cell: (run) => <Output run={run} /> },
            {
              key: "scores",
              header: "Scores",
              cell: ({ feedback_stats }) => <ScoreBadges stats={feedback_stats} />,
            },
            {
              key: "latency",
              header: "Took",
              align: "right",
              cell: ({ latency }) => (latency == null ? "–" : <Duration ms={latency * 1_000} />),
            },
            {
              key: "start",
              header: "When",
              align: "right",
              cell: ({ start_time }) => <Time at={start_time} />,
            },
          ]}
        />
      )}
      {runs.length === shown && <p className="muted">The {shown} newest are shown.</p>}
    </section>
  );
}

function Output({ run }: { run: TraceRun }) {
  return (
    <Link href={`/traces/${run.session_id}/r/${run.id}`} className="clamp-two" title="Its trace">
      {run.error ? <StatusBadge status="error" /> : valueText(run.outputs) || "Trace"}
    </Link>
  );
}
