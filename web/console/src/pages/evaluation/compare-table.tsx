import { ChevronRight, X } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import type { ScoreComparison } from "../../api/wire.ts";
import { Badge, Button, formatDuration, formatMoney, IconButton } from "../../ui/index.ts";
import { JsonView } from "../../ui/json-view.tsx";
import { type ExampleWithRuns, type Outcome, outcomesOf } from "./compared-row.ts";
import type { Experiment } from "./evaluation-api.ts";
import { formatChange, formatScore, verdictOf } from "./score-change.ts";
import { valueText } from "./value-text.ts";

type Props = {
  datasetId: string;
  examples: readonly ExampleWithRuns[];
  /** The first is what the others are compared with. */
  experiments: readonly Experiment[];
  comparison: ScoreComparison | undefined;
  onChoose(ids: readonly string[]): void;
};

export function CompareTable({ datasetId, examples, experiments, comparison, onChoose }: Props) {
  const ids = experiments.map(({ id }) => id);
  const lower = new Set(
    comparison?.keys.filter(({ lower_is_better }) => lower_is_better).map(({ key }) => key),
  );
  return (
    <div className="table-box">
      <table className="table compare-table" aria-label="Examples and what experiments made of them">
        <thead>
          <tr>
            <th scope="col">Input</th>
            <th scope="col">Reference output</th>
            {experiments.map((experiment, index) => (
              <th key={experiment.id} scope="col">
                <Heading
                  experiment={experiment}
                  isBaseline={index === 0}
                  {...{ ids, comparison, onChoose }}
                />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {examples.map((example) => (
            <Row key={example.id} {...{ datasetId, example, experiments, lower }} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Heading({
  experiment: { id, name },
  isBaseline,
  ids,
  comparison,
  onChoose,
}: {
  experiment: Experiment;
  isBaseline: boolean;
  ids: readonly string[];
  comparison: ScoreComparison | undefined;
  onChoose(ids: readonly string[]): void;
}) {
  const rest = ids.filter((each) => each !== id);
  return (
    <div className="compare-heading">
      <span className="row">
        <Link href={`/traces/${id}?range=all`} title="Its traces">
          {name}
        </Link>
        {ids.length > 1 && isBaseline && <Badge>Baseline</Badge>}
        {ids.length > 1 && !isBaseline && (
          <Button size="small" look="quiet" onClick={() => onChoose([id, ...rest])}>
            Use as baseline
          </Button>
        )}
        {ids.length > 1 && (
          <IconButton label={`Leave out ${name}`} icon={X} size="small" onClick={() => onChoose(rest)} />
        )}
      </span>
      {comparison?.keys.map(({ key, experiments }) => {
        const own = experiments.find(({ experiment_id }) => experiment_id === id);
        if (!own || own.avg === null) return null;
        return (
          <span key={key} className="row compare-mean">
            {key} <b className="number">{formatScore(own.avg)}</b>
            {own.better > 0 && <Badge tone="good">{own.better} better</Badge>}
            {own.worse > 0 && <Badge tone="bad">{own.worse} worse</Badge>}
          </span>
        );
      })}
    </div>
  );
}

function Row({
  datasetId,
  example,
  experiments,
  lower,
}: {
  datasetId: string;
  example: ExampleWithRuns;
  experiments: readonly Experiment[];
  lower: ReadonlySet<string>;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const outcomes = outcomesOf(
    example,
    experiments.map(({ id }) => id),
  );
  return (
    <tr>
      <td data-label="Input">
        <div className="compare-cell compare-input">
          <button
            type="button"
            className="button quiet small icon-only"
            aria-expanded={isOpen}
            aria-label={isOpen ? "Show less of this example" : "Show all of this example"}
            onClick={() => setIsOpen(!isOpen)}
          >
            <ChevronRight aria-hidden="true" size={15} />
          </button>
          <div>
            <Value value={example.inputs} label="input" isOpen={isOpen} />
            {isOpen && (
              <span className="row muted compare-facts">
                <Link href={`/datasets/${datasetId}?example=${example.id}`}>Example</Link>
              </span>
            )}
          </div>
        </div>
      </td>
      <td data-label="Reference output">
        <Value value={example.outputs} label="reference output" isOpen={isOpen} />
      </td>
      {outcomes.map((outcome, index) => (
        <td key={outcome.experimentId} data-label={experiments[index]!.name}>
          <OutcomeCell outcome={outcome} baseline={outcomes[0]!} lower={lower} isOpen={isOpen} />
        </td>
      ))}
    </tr>
  );
}

function Value({ value, label, isOpen }: { value: unknown; label: string; isOpen: boolean }) {
  if (isOpen && typeof value === "object" && value !== null)
    return <JsonView label={label} value={value} open={2} />;
  return <span className={isOpen ? "" : "four-lines"}>{valueText(value) || "–"}</span>;
}

const runsShown = 3;

function OutcomeCell({
  outcome,
  baseline,
  lower,
  isOpen,
}: {
  outcome: Outcome;
  baseline: Outcome;
  lower: ReadonlySet<string>;
  isOpen: boolean;
}) {
  if (outcome.runs.length === 0) return <span className="muted">Not run</span>;
  return (
    <div className={`compare-cell compare-outcome ${outcome.hasChanged ? "changed" : ""}`}>
      {outcome.runs.slice(0, runsShown).map((run) => (
        <div key={run.id} className="compare-run">
          {run.error ? (
            <span className="four-lines error-text">{run.error}</span>
          ) : (
            <Value value={run.outputs} label="output" isOpen={isOpen} />
          )}
          <span className="row muted compare-facts">
            <Link href={`/traces/${run.project_id}/r/${run.id}`}>Trace</Link>
            {run.latency_seconds !== null && <span>{formatDuration(run.latency_seconds * 1_000)}</span>}
            {run.total_cost !== null && <span>{formatMoney(run.total_cost)}</span>}
          </span>
        </div>
      ))}
      {outcome.runs.length > runsShown && (
        <span className="muted">{outcome.runs.length - runsShown} more runs of this example</span>
      )}
      <span className="row">
        {outcome.hasChanged && <Badge title="Another output than the baseline's">Changed</Badge>}
        {Object.entries(outcome.scores).map(([key, score]) => (
          <Score
            key={key}
            name={key}
            score={score}
            before={outcome === baseline ? undefined : baseline.scores[key]}
            isLowerBetter={lower.has(key)}
          />
        ))}
      </span>
    </div>
  );
}

function Score({
  name,
  score,
  before,
  isLowerBetter,
}: {
  name: string;
  score: number;
  before: number | undefined;
  isLowerBetter: boolean;
}) {
  const verdict = verdictOf(score, before, isLowerBetter);
  const tone = verdict === "better" ? "good" : verdict === "worse" ? "bad" : "neutral";
  const change = before === undefined ? "" : formatChange(score, before);
  return (
    <Badge tone={tone} {...(verdict === null ? {} : { title: verdict })}>
      {name} <b className="number">{formatScore(score)}</b>
      {change !== "" && (
        <span className="number">
          {verdict === "better" ? "▲" : "▼"} {change}
          <span className="spoken"> {verdict}</span>
        </span>
      )}
    </Badge>
  );
}
