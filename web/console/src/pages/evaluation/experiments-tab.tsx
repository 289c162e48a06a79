import { FlaskConical } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Link, useLocation } from "wouter";
import {
  Button,
  type Column,
  CopyBlock,
  Count,
  EmptyState,
  formatDuration,
  ListState,
  Money,
  ShowMore,
  Skeleton,
  Table,
  Time,
} from "../../ui/index.ts";
import { type Dataset, type Experiment, useExperiments } from "./evaluation-api.ts";
import { compareHref, mostCompared } from "./experiment-choice.ts";
import { NamedComparisons } from "./named-comparisons.tsx";
import { ScoreBadges } from "./score-badges.tsx";

const ScoreCharts = lazy(() => import("./score-charts.tsx"));

/** What was run over the examples: newest first, with what each reached; several are compared. */
export function ExperimentsTab({ dataset }: { dataset: Dataset }) {
  const found = useExperiments(dataset.id);
  const rows = found.data?.pages.flat();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [, navigate] = useLocation();
  const toggle = (id: string) =>
    setChosen(chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id]);
  // The oldest is what the others are compared with.
  const inOrder = (rows ?? [])
    .map(({ id }) => id)
    .filter((id) => chosen.includes(id))
    .reverse();
  return (
    <>
      {chosen.length > 0 && (
        <div className="row" role="toolbar" aria-label="Chosen experiments">
          <Button
            look="primary"
            disabled={inOrder.length > mostCompared}
            onClick={() => navigate(compareHref(dataset.id, inOrder))}
          >
            {inOrder.length === 1 ? "Open" : `Compare ${inOrder.length}`}
          </Button>
          {inOrder.length > mostCompared && <span className="muted">At most {mostCompared} at once.</span>}
          <Button look="quiet" onClick={() => setChosen([])}>
            Clear
          </Button>
        </div>
      )}
      <ListState of={found} rows={rows} lines={4} height="3rem" empty={<NoExperiments dataset={dataset} />}>
        {(experiments) => (
          <>
            <Suspense fallback={<Skeleton lines={1} height="9rem" />}>
              <ScoreCharts experiments={experiments} />
            </Suspense>
            <Table
              label="Experiments"
              rows={experiments}
              rowKey={({ id }) => id}
              href={({ id }) => compareHref(dataset.id, [id])}
              columns={[
                {
                  key: "name",
                  header: "Name",
                  grow: true,
                  cell: ({ id, name }) => (
                    <span className="experiment-name">
                      <input
                        type="checkbox"
                        aria-label={`Choose ${name}`}
                        checked={chosen.includes(id)}
                        onChange={() => toggle(id)}
                      />
                      <Link href={compareHref(dataset.id, [id])}>{name}</Link>
                    </span>
                  ),
                },
                ...columns,
              ]}
            />
          </>
        )}
      </ListState>
      <ShowMore of={found} />
      <NamedComparisons datasetId={dataset.id} />
    </>
  );
}

const columns: readonly Column<Experiment>[] = [
  {
    key: "scores",
    header: "Mean scores",
    cell: ({ feedback_stats }) => <ScoreBadges stats={feedback_stats} />,
  },
  { key: "runs", header: "Runs", align: "right", cell: ({ run_count }) => <Count value={run_count} /> },
  {
    key: "errors",
    header: "Errors",
    align: "right",
    cell: ({ error_rate }) => (
      <span className={`number ${error_rate ? "error-share" : "muted"}`}>
        {error_rate == null
          ? "–"
          : `${(error_rate * 100).toFixed(error_rate > 0 && error_rate < 0.1 ? 1 : 0)} %`}
      </span>
    ),
  },
  {
    key: "latency",
    header: "Median time",
    align: "right",
    cell: ({ latency_p50 }) => (
      <span className="number nowrap">{latency_p50 == null ? "–" : formatDuration(latency_p50 * 1_000)}</span>
    ),
  },
  { key: "cost", header: "Cost", align: "right", cell: ({ total_cost }) => <Money value={total_cost} /> },
  { key: "begun", header: "Begun", align: "right", cell: ({ start_time }) => <Time at={start_time} /> },
  {
    key: "traces",
    header: "",
    align: "right",
    cell: ({ id }) => <Link href={`/traces/${id}?range=all`}>Traces</Link>,
  },
];

function NoExperiments({ dataset }: { dataset: Dataset }) {
  const code = `import { evaluate } from "langsmith/evaluation";

await evaluate((inputs) => answer(inputs), {
  data: ${JSON.stringify(dataset.name)},
  evaluators: [({ outputs, referenceOutputs }) => ({
    key: "correct", score: outputs.answer === referenceOutputs.answer,
  })],
});`;
  return (
    <EmptyState icon={FlaskConical} title="No experiments yet">
      <p>An experiment runs your code on every example and scores the output:</p>
      <CopyBlock text={code} label="evaluate over this dataset" />
    </EmptyState>
  );
}
