import { useMemo } from "react";
import { Chart } from "../../ui/chart.tsx";
import type { Experiment } from "./evaluation-api.ts";
import { formatScore } from "./score-change.ts";
import { scoresOverTime } from "./scores-over-time.ts";

const shown = 6;

/** A small chart for each key that several experiments were scored with. */
export default function ScoreCharts({ experiments }: { experiments: readonly Experiment[] }) {
  const lines = useMemo(() => scoresOverTime(experiments), [experiments]);
  if (lines.length === 0) return null;
  return (
    <section className="score-charts" aria-label="Scores over time">
      {lines.slice(0, shown).map(({ key, times, values }) => (
        <div key={key} className="card">
          <h2 className="chart-title">{key}</h2>
          <ScoreChart label={key} times={times} values={values} />
        </div>
      ))}
    </section>
  );
}

function ScoreChart({ label, times, values }: { label: string; times: number[]; values: number[] }) {
  const series = useMemo(() => [{ name: "mean", values }], [values]);
  return (
    <Chart
      label={`${label} over experiments`}
      times={times}
      series={series}
      format={formatScore}
      height={110}
    />
  );
}
