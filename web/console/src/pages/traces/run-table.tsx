/* biome-ignore-all lint/a11y/useSemanticElements: rows that come and go while one scrolls are no <table>. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, type ReactNode, useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";
import { formatCount, formatDuration, formatMoney, Time } from "../../ui/index.ts";
import { previewText } from "./preview.ts";
import { StatusDot } from "./status-dot.tsx";
import { type Run, runHref } from "./trace-api.ts";
import { TypeIcon } from "./type-icon.tsx";
import { useNarrow } from "./use-narrow.ts";

const rowHeight = 41;
const narrowRowHeight = 68;

/** A long list of runs; only what is in sight is in the page. Asks for more before its end is reached. */
export function RunTable({
  rows,
  hasMore,
  isLoadingMore,
  loadMore,
}: {
  rows: readonly Run[];
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore(): void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const narrow = useNarrow();
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => (narrow ? narrowRowHeight : rowHeight),
    overscan: 8,
    getItemKey: (index) => rows[index]!.id,
  });
  const shown = virtual.getVirtualItems();
  const lastShown = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && !isLoadingMore && lastShown >= rows.length - 60) loadMore();
  }, [hasMore, isLoadingMore, lastShown, rows.length, loadMore]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heights change with the layout
  useEffect(() => virtual.measure(), [narrow]);

  return (
    <div className="runs">
      <div role="table" aria-label="Runs" aria-rowcount={hasMore ? -1 : rows.length + 1}>
        <div role="rowgroup" className="runs-head-group">
          <Cells className="runs-row runs-head" header />
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
        <div ref={box} className="runs-scroll" role="rowgroup" tabIndex={0} aria-label="Runs, scrolls">
          <div style={{ height: virtual.getTotalSize() }} className="runs-space" role="presentation">
            {shown.map((item) => (
              <RunRow
                key={item.key}
                run={rows[item.index]!}
                index={item.index}
                top={item.start}
                height={item.size}
              />
            ))}
          </div>
        </div>
      </div>
      <p className="runs-foot muted" role="status">
        {rows.length.toLocaleString("en-US")} {rows.length === 1 ? "run" : "runs"}
        {hasMore ? (isLoadingMore ? ", loading more…" : " loaded, scroll for more") : ""}
      </p>
    </div>
  );
}

/** Drawn anew only when its run changes: scrolling moves the others' rows, not this one's content. */
const RunRow = memo(function RunRow({
  run,
  index,
  top,
  height,
}: {
  run: Run;
  index: number;
  top: number;
  height: number;
}) {
  const [, navigate] = useLocation();
  const place = { transform: `translateY(${top}px)`, height };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the row's link is what the keyboard uses
    <div
      className="runs-row runs-body-row"
      role="row"
      tabIndex={-1}
      aria-rowindex={index + 2}
      style={place}
      onClick={(event) => {
        if (getSelection()?.isCollapsed === false || (event.target as HTMLElement).closest("a")) return;
        navigate(runHref(run));
      }}
    >
      <Cells run={run} />
    </div>
  );
});

function Cells({ run, header, className }: { run?: Run; header?: boolean; className?: string }) {
  const cells: readonly (readonly [string, string, (run: Run) => ReactNode])[] = [
    ["name", "Name", nameCell],
    ["input", "Input", (each) => <span className="cut">{previewText(each.inputs_preview)}</span>],
    ["output", "Output", outputCell],
    ["start", "Start", (each) => <Time at={each.start_time} />],
    ["latency", "Latency", (each) => (each.latency == null ? "–" : formatDuration(each.latency * 1_000))],
    ["tokens", "Tokens", (each) => (each.total_tokens ? formatCount(each.total_tokens) : "–")],
    ["cost", "Cost", (each) => (each.total_cost == null ? "–" : formatMoney(Number(each.total_cost)))],
  ];
  const content = cells.map(([key, label, cell]) => (
    <div key={key} role={header ? "columnheader" : "cell"} className={`runs-cell runs-${key}`}>
      {header ? label : cell(run!)}
    </div>
  ));
  if (!header) return content;
  return (
    <div className={className} role="row" tabIndex={-1} aria-rowindex={1}>
      {content}
    </div>
  );
}

function nameCell(run: Run) {
  return (
    <>
      <StatusDot status={run.status} />
      <TypeIcon type={run.run_type} />
      <Link href={runHref(run)} className="cut">
        {run.name}
      </Link>
    </>
  );
}

function outputCell(run: Run) {
  if (run.error_preview) return <span className="cut error-text">{run.error_preview}</span>;
  if (run.status === "pending") return <span className="muted">running…</span>;
  return <span className="cut">{previewText(run.outputs_tail ?? run.outputs_preview)}</span>;
}
