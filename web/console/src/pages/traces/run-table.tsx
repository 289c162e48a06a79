/* biome-ignore-all lint/a11y/useSemanticElements: rows that come and go while one scrolls are no <table>. */
import { ArrowDown, ArrowUp } from "lucide-react";
import { type MouseEvent, memo, type ReactNode, useEffect, useRef } from "react";
import { useLocation } from "wouter";
import { formatCount, formatDuration, formatMoney, TimeSince, useNow } from "../../ui/index.ts";
import { feedbackText } from "./feedback-text.ts";
import { previewText } from "./preview.ts";
import {
  type ColumnId,
  gridColumns,
  nextSort,
  runColumns,
  type Sort,
  type SortField,
} from "./run-columns.ts";
import { ChooseRun } from "./run-selection.tsx";
import { StatusDot } from "./status-dot.tsx";
import { conversationHref } from "./studio-thread.ts";
import { type Run, runHref } from "./trace-api.ts";
import { TypeIcon } from "./type-icon.tsx";
import { useNarrow } from "./use-narrow.ts";
import { useRowWindow } from "./use-row-window.ts";

const rowHeight = 41;
const narrowRowHeight = 68;

/** A long list of runs; only what is in sight is in the page. Asks for more before its end is reached. */
export function RunTable({
  rows,
  columns,
  sort,
  onSort,
  hasMore,
  isLoadingMore,
  loadMore,
}: {
  rows: readonly Run[];
  columns: readonly ColumnId[];
  sort: Sort;
  onSort(sort: Sort): void;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore(): void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const narrow = useNarrow();
  // On a phone the rows have a layout of their own.
  const widths = narrow ? undefined : gridColumns(columns);
  const height = narrow ? narrowRowHeight : rowHeight;
  const { start, end, slots } = useRowWindow(box, rows.length, height);
  const now = useNow();
  const open = useRowLinks();
  useEffect(() => {
    if (hasMore && !isLoadingMore && end > rows.length - 60) loadMore();
  }, [hasMore, isLoadingMore, end, rows.length, loadMore]);

  return (
    <div className="runs">
      <div role="table" aria-label="Runs" aria-rowcount={hasMore ? -1 : rows.length + 1}>
        <div role="rowgroup" className="runs-head-group">
          <div
            className="runs-row runs-head"
            role="row"
            tabIndex={-1}
            aria-rowindex={1}
            style={{ gridTemplateColumns: widths }}
          >
            <HeadCell label="Name" className="runs-name" field="name" sort={sort} onSort={onSort} />
            {columns.map((id) => (
              <HeadCell
                key={id}
                label={runColumns[id].label}
                className={`runs-${id}`}
                field={runColumns[id].sort}
                sort={sort}
                onSort={onSort}
              />
            ))}
          </div>
        </div>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the rows' links are what the keyboard uses */}
        <div
          ref={box}
          className="runs-scroll"
          role="rowgroup"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          tabIndex={0}
          aria-label="Runs, scrolls"
          onClick={open}
        >
          <div style={{ height: rows.length * height }} className="runs-space" role="presentation">
            {indexes(start, end).map((index) => (
              <RunRow
                // A row that leaves becomes one that comes: to change a few texts is cheaper than to make a row.
                key={index % slots}
                run={rows[index]!}
                index={index}
                height={height}
                columns={columns}
                widths={widths}
                now={now}
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

function indexes(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, at) => start + at);
}

/** One listener for all rows: their links are followed within the page, and a click beside them opens the run. */
function useRowLinks(): (event: MouseEvent) => void {
  const [, navigate] = useLocation();
  return (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (target.closest("input")) return;
    const own = target.closest("a");
    if (!own && getSelection()?.isCollapsed === false) return;
    const link = own ?? target.closest(".runs-body-row")?.querySelector("a.runs-open");
    if (!link) return;
    event.preventDefault();
    navigate(link.getAttribute("href")!);
  };
}

/** Rendered again only when its run changes: scrolling moves other rows, not this one's content. */
const RunRow = memo(function RunRow({
  run,
  index,
  height,
  columns,
  widths,
  now,
}: {
  run: Run;
  index: number;
  height: number;
  columns: readonly ColumnId[];
  widths: string | undefined;
  now: number;
}) {
  const place = { top: index * height, height, gridTemplateColumns: widths };
  return (
    <div className="runs-row runs-body-row" role="row" tabIndex={-1} aria-rowindex={index + 2} style={place}>
      <div role="cell" className="runs-cell runs-name">
        {nameCell(run)}
      </div>
      {columns.map((id) => cells[id](run, now, id))}
    </div>
  );
});

type CellOf = (run: Run, now: number, id: ColumnId) => ReactNode;

/** What is in the cell is its own. */
const cell =
  (content: (run: Run, now: number) => ReactNode): CellOf =>
  (run, now, id) => (
    <div key={id} role="cell" className={`runs-cell runs-${id}`}>
      {content(run, now)}
    </div>
  );

/** One line of what people wrote, cut where its own direction ends. */
const line =
  (textOf: (run: Run) => string, lookOf: (run: Run) => string = () => ""): CellOf =>
  (run, _now, id) => (
    <div key={id} role="cell" className={`runs-cell cut runs-${id} ${lookOf(run)}`} dir="auto">
      {textOf(run)}
    </div>
  );

// Few elements and no components: a screenful of rows changes with every frame while one scrolls.
const cells: Readonly<Record<ColumnId, CellOf>> = {
  input: line((run) => previewText(run.inputs_preview)),
  output: line(outputText, (run) => (run.error_preview ? "error-text" : "")),
  start: cell((run, now) => <TimeSince at={run.start_time} now={now} />),
  latency: cell((run) => (run.latency == null ? "–" : formatDuration(run.latency * 1_000))),
  tokens: cell((run) => (run.total_tokens ? formatCount(run.total_tokens) : "–")),
  cost: cell((run) => (run.total_cost == null ? "–" : formatMoney(Number(run.total_cost)))),
  status: cell((run) => run.status),
  type: cell((run) => run.run_type),
  tags: line((run) => run.tags?.join(", ") ?? ""),
  feedback: line((run) => feedbackText(run.feedback_stats)),
  thread: cell(threadLink),
};

function HeadCell({
  label,
  className,
  field,
  sort,
  onSort,
}: {
  label: string;
  className: string;
  field: SortField | undefined;
  sort: Sort;
  onSort(sort: Sort): void;
}) {
  const isHere = field !== undefined && sort.field === field;
  const Arrow = sort.order === "asc" ? ArrowUp : ArrowDown;
  return (
    <div
      role="columnheader"
      tabIndex={-1}
      className={`runs-cell ${className}`}
      aria-sort={isHere ? (sort.order === "asc" ? "ascending" : "descending") : undefined}
    >
      {field === undefined ? (
        label
      ) : (
        <button type="button" className="runs-sort" onClick={() => onSort(nextSort(sort, field))}>
          {label}
          {isHere && <Arrow size={12} aria-hidden="true" />}
        </button>
      )}
    </div>
  );
}

function threadLink(run: Run) {
  if (!run.thread_id) return "–";
  return (
    <a href={conversationHref(run.session_id, run.thread_id)} className="cut" title={run.thread_id}>
      {run.thread_id}
    </a>
  );
}

function nameCell(run: Run) {
  return (
    <>
      <ChooseRun id={run.id} name={run.name} />
      <StatusDot status={run.status} />
      <TypeIcon type={run.run_type} />
      <a href={runHref(run)} className="cut runs-open" dir="auto">
        {run.name}
      </a>
    </>
  );
}

function outputText(run: Run): string {
  if (run.error_preview) return run.error_preview;
  return run.status === "pending" ? "running…" : previewText(run.outputs_tail ?? run.outputs_preview);
}
