import { Maximize, ZoomIn, ZoomOut } from "lucide-react";
import { type FocusEvent, type KeyboardEvent, memo, useEffect, useId, useMemo } from "react";
import { IconButton } from "../../../ui/index.ts";
import { type DrawnGraph, type GraphGroup, type GraphLine, layoutGraph, linePath } from "./graph-layout.ts";
import type { GraphActivity, NodeFigures } from "./node-activity.ts";
import { figureWords, NodeBox } from "./node-box.tsx";
import { usePanZoom } from "./use-pan-zoom.ts";
import "./graph.css";

export type GraphViewProps = {
  graph: DrawnGraph;
  label: string;
  activity: GraphActivity;
  /** What runs next if the run continues from the checkpoint that is shown. */
  next: readonly string[];
  stops: { before: readonly string[]; after: readonly string[] };
  selected: string | null;
  onSelect(nodeId: string | null): void;
};

/** The graph, drawn: subgraphs as boxes, what runs lit up, time and tokens on each node. */
export function GraphView({ graph, label, activity, next, stops, selected, onSelect }: GraphViewProps) {
  const layout = useMemo(() => layoutGraph(graph), [graph]);
  // The Tab key goes through them as they are read: from above, from the left.
  const nodes = useMemo(() => layout.nodes.toSorted((a, b) => a.y - b.y || a.x - b.x), [layout]);
  const { frame, layer, events, zoom, showAll, reveal } = usePanZoom(layout);
  const busy = layout.nodes.find(({ id }) => (activity.nodes.get(id)?.running ?? 0) > 0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: when another one runs, not when it is drawn again
  useEffect(() => {
    if (busy) reveal(busy);
  }, [busy]);
  const arrow = useId();
  const onFocus = ({ target }: FocusEvent) => {
    const node = layout.nodes.find(({ id }) => id === target.getAttribute("data-node"));
    // A click is where one looks already.
    if (node && target.matches(":focus-visible")) reveal(node, true);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.key === "Escape" && selected !== null) onSelect(null);
    else events.onKeyDown(event);
  };
  const handlers = { ...events, onKeyDown, onFocus };
  return (
    <div className="graph">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move it */}
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing is no field set */}
      <div ref={frame} className="graph-frame" role="group" aria-label={label} tabIndex={0} {...handlers}>
        <svg ref={layer} width={layout.width} height={layout.height} role="presentation">
          <defs>
            <marker
              id={arrow}
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              orient="auto"
            >
              <path className="graph-arrow" d="M0 0L8 4L0 8z" />
            </marker>
          </defs>
          {layout.groups.map((group) => (
            <Group key={group.id} group={group} figures={activity.nodes.get(group.id)} />
          ))}
          <Lines lines={layout.lines} arrow={arrow} />
          {nodes.map((node) => (
            <NodeBox
              key={node.id}
              node={node}
              figures={activity.nodes.get(node.id)}
              next={next.includes(node.id)}
              stopsBefore={stops.before.includes(node.id)}
              stopsAfter={stops.after.includes(node.id)}
              selected={selected === node.id}
              onSelect={onSelect}
            />
          ))}
        </svg>
      </div>
      <div className="graph-tools">
        <IconButton size="small" label="Zoom in" icon={ZoomIn} onClick={() => zoom(1.3)} />
        <IconButton size="small" label="Zoom out" icon={ZoomOut} onClick={() => zoom(1 / 1.3)} />
        <IconButton size="small" label="Show the whole graph" icon={Maximize} onClick={showAll} />
      </div>
    </div>
  );
}

const Group = memo(function Group({
  group,
  figures,
}: {
  group: GraphGroup;
  figures: NodeFigures | undefined;
}) {
  const { x, y, width, height, name } = group;
  return (
    <g className={figures && figures.running > 0 ? "graph-group running" : "graph-group"}>
      <rect x={x} y={y} width={width} height={height} rx={10} />
      <text x={x + 12} y={y + 18}>
        {name}
      </text>
      <text className="graph-figures" x={x + width - 12} y={y + 18} textAnchor="end">
        {figureWords(figures)}
      </text>
    </g>
  );
});

/** They change with the graph alone. */
const Lines = memo(function Lines({ lines, arrow }: { lines: readonly GraphLine[]; arrow: string }) {
  return lines.map(({ id, points, conditional, label }) => {
    const middle = points[Math.floor((points.length - 1) / 2)]!;
    const after = points[Math.floor((points.length - 1) / 2) + 1] ?? middle;
    return (
      <g key={id} className={conditional ? "graph-line conditional" : "graph-line"}>
        <path d={linePath(points)} markerEnd={`url(#${arrow})`} />
        {label && (
          <text x={(middle.x + after.x) / 2} y={(middle.y + after.y) / 2} textAnchor="middle">
            {label}
          </text>
        )}
      </g>
    );
  });
});
