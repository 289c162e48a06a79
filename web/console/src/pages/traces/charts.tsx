import { useMemo } from "react";
import { Chart, type ChartSeries } from "../../ui/chart.tsx";
import { Card, ErrorState, formatCount, formatDuration, formatMoney, Skeleton } from "../../ui/index.ts";
import { fillBuckets, type Range } from "./range.ts";
import { useStats } from "./trace-api.ts";

const yearMs = 365 * 86_400_000;
const seconds = (value: number) => formatDuration(value * 1_000);

type Drawing = { title: string; kind: "line" | "bars"; format(value: number): string; series: ChartSeries[] };

export default function Charts(props: {
  projectId: string;
  lastMs: number | null;
  bucket: Range["bucket"];
  isRoot: boolean;
  filter: string | undefined;
}) {
  const { projectId, bucket, isRoot, filter } = props;
  const lastMs = props.lastMs ?? yearMs;
  const found = useStats(projectId, { bucket, lastMs, isRoot: isRoot || undefined, filter });
  const drawn = useMemo(() => {
    if (!found.data) return null;
    const { buckets, start_time, end_time } = found.data;
    const { times, at } = fillBuckets(buckets, { bucket, start: start_time, end: end_time });
    const of = (value: (each: (typeof buckets)[number]) => number | null, none: number | null) =>
      at.map((each) => (each ? value(each) : none));
    const drawings: Drawing[] = [
      {
        title: isRoot ? "Traces" : "Runs",
        kind: "bars",
        format: formatCount,
        series: [
          { name: "all", values: of((each) => each.run_count, 0), color: "accent" },
          {
            name: "errors",
            values: of((each) => Math.round(each.run_count * (each.error_rate ?? 0)), 0),
            color: "danger",
          },
        ],
      },
      {
        title: "Latency",
        kind: "line",
        format: seconds,
        series: [
          { name: "median", values: of((each) => each.latency_p50, null), color: "accent" },
          { name: "p99", values: of((each) => each.latency_p99, null), color: "warning" },
        ],
      },
      {
        title: "Tokens",
        kind: "bars",
        format: formatCount,
        series: [
          { name: "in all", values: of((each) => each.total_tokens, 0), color: "accent" },
          { name: "answers", values: of((each) => each.completion_tokens, 0), color: "warning" },
        ],
      },
      {
        title: "Cost",
        kind: "bars",
        format: formatMoney,
        series: [{ name: "dollars", values: of((each) => each.total_cost ?? 0, 0), color: "ink" }],
      },
    ];
    return { times, drawings };
  }, [found.data, bucket, isRoot]);
  if (found.error && !drawn) return <ErrorState error={found.error} retry={() => found.refetch()} />;
  if (!drawn) return <Skeleton lines={2} height="14rem" />;
  return (
    <div className="charts">
      {drawn.drawings.map(({ title, kind, format, series }) => (
        <Card key={title}>
          <h2 className="chart-title">{title}</h2>
          {series.every(({ values }) => values.every((value) => !value)) ? (
            <p className="muted chart-none">None in this time.</p>
          ) : (
            <Chart
              label={title}
              times={drawn.times}
              series={series}
              // Bars thinner than a line are a wall.
              kind={drawn.times.length > 72 ? "line" : kind}
              format={format}
              height={190}
            />
          )}
        </Card>
      ))}
    </div>
  );
}
