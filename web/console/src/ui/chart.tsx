import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { formatCount } from "./format.ts";

export type ChartSeries = { name: string; values: readonly (number | null)[]; color?: ChartColor };
export type ChartColor = "accent" | "danger" | "warning" | "ink";

export type ChartProps = {
  /** What is drawn, for assistive technology and as the heading. */
  label: string;
  /** Seconds since 1970, ascending. */
  times: readonly number[];
  series: readonly ChartSeries[];
  format?(value: number): string;
  height?: number;
  kind?: "line" | "bars";
  /** From and to, in seconds; default: from the first to the last time. */
  range?: readonly [number, number];
};

const order: readonly ChartColor[] = ["accent", "danger", "warning", "ink"];

/** Lines over time. Import it only where something is drawn: it brings the drawing library. */
export function Chart({
  label,
  times,
  series,
  format = formatCount,
  height = 160,
  kind = "line",
  range,
}: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const theme = useThemeChange();
  const last = series.map(({ name, values }) => {
    const value = values.findLast((candidate) => candidate !== null);
    return `${name}: ${value === undefined || value === null ? "no value" : format(value)}`;
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme is read from the styles while drawing
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const styles = getComputedStyle(element);
    const color = (name: string) => styles.getPropertyValue(`--${name}`).trim();
    const axis: uPlot.Axis = {
      stroke: color("ink-2"),
      grid: { stroke: color("line"), width: 1 },
      ticks: { show: false },
      font: `11px ${styles.fontFamily}`,
    };
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height,
        padding: [10, 8, 0, 0],
        cursor: { y: false, points: { size: 7 } },
        legend: { show: false },
        hooks: { setCursor: [(plot) => setPointed(plot.cursor.idx ?? null)] },
        scales: {
          ...(range ? { x: { range: [range[0], range[1]] } } : {}),
          y: { range: (_plot, least, most) => [Math.min(0, least ?? 0), (most || 1) * 1.08] },
        },
        axes: [
          {
            ...axis,
            size: 30,
            grid: { show: false },
            space: 70,
            values: (_plot, values) => values.map(tick),
          },
          { ...axis, size: 58, values: (_plot, values) => values.map((value) => format(value)) },
        ],
        series: [
          {},
          ...series.map(({ name, color: wanted }, index) => {
            const stroke = color(wanted ?? order[index % order.length]!);
            return {
              label: name,
              stroke,
              width: 1.75,
              fill:
                series.length === 1 || kind === "bars"
                  ? `color-mix(in srgb, ${stroke} 18%, transparent)`
                  : undefined,
              points: { show: times.length === 1 },
              ...(kind === "bars" ? { paths: uPlot.paths.bars?.({ size: [0.7, 40] }) } : {}),
            } as uPlot.Series;
          }),
        ],
      },
      [[...times], ...series.map(({ values }) => [...values])] as uPlot.AlignedData,
      element,
    );
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [times, series, format, height, kind, range, theme]);

  const index = pointed ?? times.length - 1;
  const at = times[index];
  return (
    <div className="chart">
      <div ref={place} className="chart-plot" role="img" aria-label={`${label}. ${last.join(", ")}`} />
      <p className="chart-legend" aria-hidden="true">
        <span>{at === undefined ? "" : moment(at, times)}</span>
        {series.map(({ name, values, color }, place) => {
          const value = values[index];
          return (
            <span key={name}>
              <span
                className="swatch"
                style={{ background: `var(--${color ?? order[place % order.length]})` }}
              />
              {name} <b>{value === null || value === undefined ? "–" : format(value)}</b>
            </span>
          );
        })}
      </p>
    </div>
  );
}

/** Midnight is labelled with its day, so that several days can be distinguished. */
function tick(seconds: number): string {
  const at = new Date(seconds * 1_000);
  if (at.getHours() === 0 && at.getMinutes() === 0) return day(at);
  return `${String(at.getHours()).padStart(2, "0")}:${String(at.getMinutes()).padStart(2, "0")}`;
}

function moment(seconds: number, times: readonly number[]): string {
  const at = new Date(seconds * 1_000);
  const isLong = times.at(-1)! - times[0]! > 86_400;
  return isLong ? `${day(at)}, ${at.toLocaleTimeString()}` : at.toLocaleTimeString();
}

function day(at: Date): string {
  return at.toLocaleDateString(undefined, { month: "short", day: "numeric" });
}

/** Changes whenever the colours do. */
function useThemeChange(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const changed = () => setCount((now) => now + 1);
    const observer = new MutationObserver(changed);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const media = matchMedia("(prefers-color-scheme: dark)");
    media.addEventListener("change", changed);
    return () => {
      observer.disconnect();
      media.removeEventListener("change", changed);
    };
  }, []);
  return count;
}
