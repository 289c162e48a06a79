import { createContext, type ReactNode, useContext, useMemo, useState } from "react";
import { Button } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { AddRuns } from "../evaluation/add-runs.tsx";

type Chosen = { ids: ReadonlySet<string>; toggle(id: string): void };
const Selection = createContext<Chosen | null>(null);

/** As many as one request takes. */
const mostAtOnce = 1_000;

/** Around a list of runs: rows can be chosen, and what can be done with those stands above them. */
export function RunSelection({ rows, children }: { rows: readonly { id: string }[]; children: ReactNode }) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const mayWrite = useCan("editor");
  const chosen = useMemo<Chosen>(
    () => ({
      ids,
      toggle: (id) =>
        setIds((now) => new Set(now.has(id) ? [...now].filter((each) => each !== id) : [...now, id])),
    }),
    [ids],
  );
  if (!mayWrite) return children;
  const clear = () => setIds(new Set());
  const all = rows.slice(0, mostAtOnce);
  return (
    <Selection value={chosen}>
      {ids.size > 0 && (
        <div className="row run-selection" role="toolbar" aria-label="Chosen runs">
          <b role="status">{ids.size.toLocaleString("en-US")} chosen</b>
          <AddRuns runIds={[...ids].slice(0, mostAtOnce)} onAdded={clear} />
          {ids.size < all.length && (
            <Button size="small" look="quiet" onClick={() => setIds(new Set(all.map(({ id }) => id)))}>
              Choose all {all.length.toLocaleString("en-US")} loaded
            </Button>
          )}
          <Button size="small" look="quiet" onClick={clear}>
            Clear
          </Button>
        </div>
      )}
      {children}
    </Selection>
  );
}

/** The box in front of a run; nothing where runs are not chosen. */
export function ChooseRun({ id, name }: { id: string; name: string }) {
  const chosen = useContext(Selection);
  if (!chosen) return null;
  return (
    <input
      type="checkbox"
      className="choose-run"
      aria-label={`Choose ${name}`}
      checked={chosen.ids.has(id)}
      onChange={() => chosen.toggle(id)}
    />
  );
}
