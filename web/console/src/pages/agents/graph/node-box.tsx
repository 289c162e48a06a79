import { memo } from "react";
import { formatCount, formatDuration } from "../../../ui/index.ts";
import type { GraphNode } from "./graph-layout.ts";
import type { NodeFigures } from "./node-activity.ts";

export type NodeBoxProps = {
  node: GraphNode;
  figures: NodeFigures | undefined;
  next: boolean;
  stopsBefore: boolean;
  stopsAfter: boolean;
  selected: boolean;
  onSelect(nodeId: string | null): void;
};

/** One node. Only those whose figures change are drawn again. */
export const NodeBox = memo(function NodeBox(props: NodeBoxProps) {
  const { node, figures, next, stopsBefore, stopsAfter, selected, onSelect } = props;
  const { x, y, width, height, name, kind } = node;
  if (kind !== "node") {
    return (
      <g className="graph-terminal">
        <rect x={x} y={y} width={width} height={height} rx={height / 2} />
        <text x={x + width / 2} y={y + height / 2 + 4} textAnchor="middle">
          {kind === "start" ? "Start" : "End"}
        </text>
      </g>
    );
  }
  const words = figureWords(figures);
  const shown = shortened(name, width);
  const title = figures && figures.times > 1 ? `${shown} ×${figures.times}` : shown;
  // What is seen stands first, as it is seen.
  const label = [words ? `${title} ${words}` : title, shown !== name && name];
  const state = stateOf(figures, next);
  const choose = () => onSelect(selected ? null : node.id);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a button is no part of a drawing
    <g
      className={`graph-node ${state.className}`}
      role="button"
      data-node={node.id}
      tabIndex={0}
      aria-pressed={selected}
      aria-label={[...label, state.words, stopWords(stopsBefore, stopsAfter)].filter(Boolean).join(", ")}
      onClick={choose}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose();
      }}
    >
      <rect x={x} y={y} width={width} height={height} rx={8} />
      <text textAnchor="middle">
        <tspan className="graph-name" x={x + width / 2} y={y + (words ? 20 : 27)}>
          {title}
        </tspan>
        {words && (
          <>
            {" "}
            <tspan className="graph-figures" x={x + width / 2} y={y + 36}>
              {words}
            </tspan>
          </>
        )}
      </text>
      {stopsBefore && <circle className="graph-stop" cx={x + width / 2} cy={y} r={5} />}
      {stopsAfter && <circle className="graph-stop" cx={x + width / 2} cy={y + height} r={5} />}
    </g>
  );
});

export function figureWords(figures: NodeFigures | undefined): string {
  if (!figures || figures.times === 0) return "";
  return [
    figures.ms !== null && formatDuration(figures.ms),
    figures.tokens > 0 && `${formatCount(figures.tokens)} tokens`,
  ]
    .filter(Boolean)
    .join(" · ");
}

function stateOf(figures: NodeFigures | undefined, next: boolean): { className: string; words: string } {
  if (figures && figures.running > 0) return { className: "running", words: "running" };
  if (figures?.failed) return { className: "failed", words: "failed" };
  if (figures?.waits) return { className: "waits", words: "waits for you" };
  if (next) return { className: "next", words: "runs next" };
  return figures ? { className: "done", words: "has run" } : { className: "", words: "" };
}

function stopWords(before: boolean, after: boolean): string {
  if (before && after) return "stops before and after";
  return before ? "stops before" : after ? "stops after" : "";
}

function shortened(name: string, width: number): string {
  const room = Math.floor((width - 20) / 7.4);
  return name.length <= room ? name : `${name.slice(0, room - 1)}…`;
}
