import { fillBuckets } from "./range.ts";
import { useStats } from "./trace-api.ts";

const hours = 24;
const dayMs = hours * 3_600_000;

/** Runs of the last day by hour, errors in their own colour. */
export function Sparkline({ projectId }: { projectId: string }) {
  const { data } = useStats(projectId, { bucket: "hour", lastMs: dayMs, isRoot: true });
  if (!data) return <span className="sparkline" aria-hidden="true" />;
  const { at } = fillBuckets(data.buckets, { bucket: "hour", start: data.start_time, end: data.end_time });
  const most = Math.max(1, ...at.map((bucket) => bucket?.run_count ?? 0));
  const label = `${data.total.run_count} traces in the last day`;
  const width = 100 / at.length;
  return (
    <svg className="sparkline" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={label}>
      <title>{label}</title>
      {at.map((bucket, index) => {
        const count = bucket?.run_count ?? 0;
        const height = count === 0 ? 1 : Math.max(2, (count / most) * 24);
        const failed = height * (bucket?.error_rate ?? 0);
        const x = index * width;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: an hour is its place
          <g key={index}>
            <rect
              x={x}
              y={24 - height}
              width={width * 0.75}
              height={height}
              className={count === 0 ? "none" : "runs"}
            />
            {failed > 0 && (
              <rect x={x} y={24 - failed} width={width * 0.75} height={failed} className="errors" />
            )}
          </g>
        );
      })}
    </svg>
  );
}
