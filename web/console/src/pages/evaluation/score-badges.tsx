import type { Experiment } from "./evaluation-api.ts";
import { formatScore } from "./score-change.ts";

const shown = 4;

/** The means of an experiment's or a run's scores. */
export function ScoreBadges({ stats }: { stats: Experiment["feedback_stats"] }) {
  const given = Object.entries(stats ?? {}).filter(([, { avg }]) => avg !== null);
  if (given.length === 0) return <span className="muted">–</span>;
  return (
    <span className="row">
      {given.slice(0, shown).map(([key, { avg, n }]) => (
        <span key={key} className="badge" title={`${n} given`}>
          {key} <b className="number">{formatScore(avg!)}</b>
        </span>
      ))}
      {given.length > shown && <span className="muted">+{given.length - shown}</span>}
    </span>
  );
}
