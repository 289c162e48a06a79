import type { BranchRow } from "./branch-tree.ts";

const step = 16;
const dotAt = 12;
const x = (lane: number) => lane * step + 9;

export const linesWidth = (lanes: number) => lanes * step + 4;

/** The lines of the branches beside one checkpoint, as high as its row. */
export function BranchLines({ row, lanes, current }: { row: BranchRow; lanes: number; current: boolean }) {
  const here = x(row.lane);
  return (
    <svg className="branch-lines" width={linesWidth(lanes)} aria-hidden="true">
      {row.through.map((lane) => (
        <line key={lane} x1={x(lane)} x2={x(lane)} y1="0" y2="100%" />
      ))}
      {row.forks.map((lane) => (
        <path key={lane} d={`M${x(lane)} 0C${x(lane)} ${dotAt} ${here} 0 ${here} ${dotAt}`} />
      ))}
      {!row.tip && <line x1={here} x2={here} y1="0" y2={dotAt} />}
      {row.continues && <line x1={here} x2={here} y1={dotAt} y2="100%" />}
      <circle className={current ? "current" : ""} cx={here} cy={dotAt} r={5} />
    </svg>
  );
}
