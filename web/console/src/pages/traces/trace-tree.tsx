import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronRight } from "lucide-react";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { formatCount, formatDuration } from "../../ui/index.ts";
import { StatusDot } from "./status-dot.tsx";
import type { Run } from "./trace-api.ts";
import { type TreeRow, treeRows } from "./trace-rows.ts";
import { TypeIcon } from "./type-icon.tsx";

const rowHeight = 34;

/** A trace as a tree with its times beside it; arrow keys walk it. */
export function TraceTree({
  runs,
  selected,
  onSelect,
}: {
  runs: readonly Run[];
  selected: string;
  onSelect(id: string): void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  // biome-ignore lint/correctness/useExhaustiveDependencies: what runs is measured when there is news of it
  const nowMs = useMemo(() => Date.now(), [runs]);
  const rows = useMemo(() => treeRows(runs, folded, nowMs), [runs, folded, nowMs]);
  const at = rows.findIndex(({ run }) => run.id === selected);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 15,
    getItemKey: (index) => rows[index]!.run.id,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: once the trace is there, and when another run is chosen
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at, { align: "auto" });
  }, [selected, runs.length]);

  const fold = (id: string, isFolded: boolean) => {
    const next = new Set(folded);
    if (isFolded) next.add(id);
    else next.delete(id);
    setFolded(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[at];
    const target = row && keyTarget(event.key, rows, at);
    if (!row || target === undefined) return;
    event.preventDefault();
    if (target === "fold" || target === "unfold") fold(row.run.id, target === "fold");
    else if (rows[target]) onSelect(rows[target].run.id);
  };
  return (
    <div
      ref={box}
      className="tree"
      role="tree"
      aria-label="Steps of the trace"
      tabIndex={0}
      style={{ height: virtual.getTotalSize() }}
      aria-activedescendant={at >= 0 ? `step-${selected}` : undefined}
      onKeyDown={onKeyDown}
    >
      <div style={{ height: virtual.getTotalSize() }} className="runs-space" role="presentation">
        {virtual.getVirtualItems().map((item) => (
          <Step
            key={item.key}
            row={rows[item.index]!}
            top={item.start}
            isSelected={item.index === at}
            onSelect={onSelect}
            onFold={fold}
          />
        ))}
      </div>
    </div>
  );
}

/** Where a key leads: a row, or folding the one that is chosen. */
function keyTarget(
  key: string,
  rows: readonly TreeRow[],
  at: number,
): number | "fold" | "unfold" | undefined {
  const row = rows[at]!;
  switch (key) {
    case "ArrowDown":
      return at + 1;
    case "ArrowUp":
      return at - 1;
    case "Home":
      return 0;
    case "End":
      return rows.length - 1;
    case "ArrowRight":
      if (row.childCount === 0) return undefined;
      return row.isOpen ? at + 1 : "unfold";
    case "ArrowLeft":
      if (row.childCount > 0 && row.isOpen) return "fold";
      return rows.findLastIndex((each, index) => index < at && each.depth < row.depth);
    default:
      return undefined;
  }
}

function Step({
  row,
  top,
  isSelected,
  onSelect,
  onFold,
}: {
  row: TreeRow;
  top: number;
  isSelected: boolean;
  onSelect(id: string): void;
  onFold(id: string, isFolded: boolean): void;
}) {
  const { run, depth, childCount, isOpen, left, width, tookMs } = row;
  const bar = { left: `${left * 100}%`, width: `max(2px, ${width * 100}%)` };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree itself has the keys
    <div
      className={`step ${isSelected ? "selected" : ""}`}
      id={`step-${run.id}`}
      role="treeitem"
      tabIndex={-1}
      aria-level={depth + 1}
      aria-selected={isSelected}
      aria-expanded={childCount > 0 ? isOpen : undefined}
      style={{ transform: `translateY(${top}px)`, height: rowHeight }}
      onClick={() => onSelect(run.id)}
    >
      <div className="step-name" style={{ paddingLeft: `${Math.min(depth, 14) * 0.9}rem` }}>
        {childCount > 0 ? (
          <span
            className={`step-fold ${isOpen ? "open" : ""}`}
            aria-hidden="true"
            onClick={(event) => {
              event.stopPropagation();
              onFold(run.id, isOpen);
            }}
          >
            <ChevronRight size={14} />
          </span>
        ) : (
          <span className="step-fold" aria-hidden="true" />
        )}
        <StatusDot status={run.status} />
        <TypeIcon type={run.run_type} />
        <span className="cut" dir="auto">
          {run.name}
        </span>
        {!isOpen && <span className="badge">{childCount}</span>}
        {run.run_type === "llm" && (run.total_tokens ?? 0) > 0 && (
          <span className="muted step-tokens">{formatCount(run.total_tokens!)} tok</span>
        )}
      </div>
      <div className="step-time">
        <span className={`step-bar ${run.status} ${run.run_type}`} style={bar} />
        <span className="step-took">{formatDuration(tookMs)}</span>
      </div>
    </div>
  );
}
