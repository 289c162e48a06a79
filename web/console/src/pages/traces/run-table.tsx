/* biome-ignore-all lint/a11y/useSemanticElements: rows that come and go while one scrolls are no <table>. */
import { useVirtualizer } from "@tanstack/react-virtual";
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

const rowHeight = 41;
const narrowRowHeight = 68;
const overscan = 4;

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
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    overscan,
  });
  // As many as can be in the page at once.
  const pool = Math.ceil((virtual.scrollRect?.height ?? 0) / height) + 2 * overscan + 2;
  const shown = virtual.getVirtualItems();
  const now = useNow();
  const open = useRowLinks();
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
          <div style={{ height: virtual.getTotalSize() }} className="runs-space" role="presentation">
            {shown.map((item) => (
              <RunRow
                // A row that leaves becomes one that comes: to change a few texts is cheaper than to make a row.
                key={item.index % pool}
                run={rows[item.index]!}
                index={item.index}
                top={item.start}
                height={item.size}
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

/** Drawn anew only when its run changes: scrolling moves the others' rows, not this one's content. */
const RunRow = memo(function RunRow({
  run,
  index,
  top,
  height,
  columns,
  widths,
  now,
}: {
  run: Run;
  index: number;
  top: number;
  height: number;
  columns: readonly ColumnId[];
  widths: string | undefined;
  now: number;
}) {
  const place = { transform: `translateY(${top}px)`, height, gridTemplateColumns: widths };
  return (
    <div className="runs-row runs-body-row" role="row" tabIndex={-1} aria-rowindex={index + 2} style={place}>
      <Cell name="name">{nameCell(run)}</Cell>
      {columns.map((id) => (
        <Cell key={id} name={id}>
          {cells[id](run, now)}
        </Cell>
      ))}
    </div>
  );
});

const cells: Readonly<Record<ColumnId, (run: Run, now: number) => ReactNode>> = {
  input: (run) => <Cut text={previewText(run.inputs_preview)} />,
  output: outputCell,
  start: (run, now) => <TimeSince at={run.start_time} now={now} />,
  latency: (run) => (run.latency == null ? "–" : formatDuration(run.latency * 1_000)),
  tokens: (run) => (run.total_tokens ? formatCount(run.total_tokens) : "–"),
  cost: (run) => (run.total_cost == null ? "–" : formatMoney(Number(run.total_cost))),
  status: (run) => run.status,
  type: (run) => run.run_type,
  tags: (run) => <Cut text={run.tags?.join(", ") ?? ""} />,
  feedback: (run) => <Cut text={feedbackText(run.feedback_stats)} />,
  thread: threadCell,
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

function Cell({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div role="cell" className={`runs-cell runs-${name}`}>
      {children}
    </div>
  );
}

function threadCell(run: Run) {
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

function outputCell(run: Run) {
  if (run.error_preview) return <Cut text={run.error_preview} className="error-text" />;
  if (run.status === "pending") return <span className="muted">running…</span>;
  return <Cut text={previewText(run.outputs_tail ?? run.outputs_preview)} />;
}

/** One line of what people wrote, cut where its own direction ends. */
function Cut({ text, className = "" }: { text: string; className?: string }) {
  return (
    <span className={`cut ${className}`} dir="auto">
      {text}
    </span>
  );
}
