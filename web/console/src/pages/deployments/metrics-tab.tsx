import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useSearchParams } from "wouter";
import { api, query } from "../../api/client.ts";
import type { DeploymentMetrics } from "../../api/wire.ts";
import { Chart } from "../../ui/chart.tsx";
import {
  Badge,
  Card,
  EmptyState,
  ErrorState,
  formatBytes,
  formatCount,
  formatDuration,
  Select,
  Skeleton,
  StatusBadge,
  Time,
} from "../../ui/index.ts";
import { type Deployment, deploymentPath } from "./deployment-api.ts";

const ranges: Readonly<Record<string, { label: string; hours: number; stepSeconds: number }>> = {
  "15m": { label: "Last 15 minutes", hours: 0.25, stepSeconds: 10 },
  "1h": { label: "Last hour", hours: 1, stepSeconds: 60 },
  "6h": { label: "Last 6 hours", hours: 6, stepSeconds: 300 },
  "24h": { label: "Last day", hours: 24, stepSeconds: 900 },
};
const askAgainMs = 10_000;

export default function MetricsTab({ deployment }: { deployment: Deployment }) {
  const [params, setParams] = useSearchParams();
  const wanted = params.get("range") ?? "1h";
  const range = ranges[wanted] ?? ranges["1h"]!;
  const found = useQuery({
    // Not under "deployments": figures grow by the clock, not by changes.
    queryKey: ["deployment-metrics", deployment.id, wanted],
    refetchInterval: askAgainMs,
    queryFn: ({ signal }) => {
      const start = new Date(Date.now() - range.hours * 3_600_000).toISOString();
      const asked = query({ start_time: start, step_seconds: range.stepSeconds });
      return api.get<DeploymentMetrics>(`${deploymentPath(deployment.id)}/metrics${asked}`, { signal });
    },
  });
  if (found.error && !found.data) return <ErrorState error={found.error} retry={() => found.refetch()} />;
  return (
    <div className="stack">
      <div className="row">
        <Select
          aria-label="Time"
          className="range"
          value={wanted}
          onChange={(event) =>
            setParams((now) => {
              now.set("range", event.target.value);
              return now;
            })
          }
          options={Object.entries(ranges).map(([value, { label }]) => ({ value, label }))}
        />
        {found.data && <Servers metrics={found.data} />}
      </div>
      {!found.data ? (
        <Skeleton lines={2} height="14rem" />
      ) : found.data.points.length === 0 ? (
        <EmptyState title="No figures in this time">
          They are recorded every ten seconds while a server runs, and kept for a day.
        </EmptyState>
      ) : (
        <Charts metrics={found.data} hours={range.hours} />
      )}
    </div>
  );
}

function Servers({ metrics }: { metrics: DeploymentMetrics }) {
  return (
    <>
      {metrics.instances.map(({ id, state, in_flight, started_at }) => (
        <span className="row muted small" key={id}>
          <StatusBadge status={state} /> since <Time at={started_at} /> · {formatCount(in_flight)} in flight
        </span>
      ))}
      {metrics.restarts > 0 && <Badge tone="warn">{metrics.restarts} restarts</Badge>}
    </>
  );
}

const percent = (value: number) => `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`;

function Charts({ metrics, hours }: { metrics: DeploymentMetrics; hours: number }) {
  const drawn = useMemo(() => {
    const now = Date.now() / 1_000;
    const { points, step_seconds: step } = metrics;
    const perMinute = 60 / step;
    return {
      range: [now - hours * 3_600, now] as const,
      times: points.map(({ at }) => Date.parse(at) / 1_000),
      cpu: [{ name: "In use", values: points.map(({ cpu }) => cpu) }],
      memory: [{ name: "In use", values: points.map(({ memory_bytes }) => memory_bytes) }],
      requests: [
        { name: "Requests", values: points.map(({ requests }) => requests * perMinute) },
        { name: "Errors", values: points.map(({ errors }) => errors * perMinute), color: "danger" as const },
      ],
      latency: [{ name: "Mean", values: points.map(({ mean_ms }) => mean_ms) }],
    };
  }, [metrics, hours]);
  const { times, range } = drawn;
  return (
    <div className="charts">
      <ChartCard title="Requests per minute" times={times} range={range} series={drawn.requests} />
      <ChartCard
        title="Mean response time"
        times={times}
        range={range}
        series={drawn.latency}
        format={formatDuration}
      />
      <ChartCard title="Processor" times={times} range={range} series={drawn.cpu} format={percent} />
      <ChartCard title="Memory" times={times} range={range} series={drawn.memory} format={formatBytes} />
    </div>
  );
}

function ChartCard({ title, ...chart }: { title: string } & Omit<Parameters<typeof Chart>[0], "label">) {
  return (
    <Card>
      <h2 className="chart-title">{title}</h2>
      <Chart label={title} {...chart} />
    </Card>
  );
}
