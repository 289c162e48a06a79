import { Columns3 } from "lucide-react";
import { type ColumnId, columnIds, runColumns, usualColumns } from "./run-columns.ts";

/** Which columns the list has. */
export function ColumnChoice({
  columns,
  onChange,
}: {
  columns: readonly ColumnId[];
  onChange(columns: readonly ColumnId[]): void;
}) {
  const toggle = (id: ColumnId) => {
    const next = columnIds.filter((each) => (each === id) !== columns.includes(each));
    onChange(next.length > 0 ? next : usualColumns);
  };
  return (
    <details className="menu-fold">
      <summary className="button plain small">
        <Columns3 size={15} aria-hidden="true" /> Columns
      </summary>
      <fieldset className="menu-card">
        <legend>Columns of the list</legend>
        {columnIds.map((id) => (
          <label key={id} className="checkbox">
            <input type="checkbox" checked={columns.includes(id)} onChange={() => toggle(id)} />
            {runColumns[id].label}
          </label>
        ))}
      </fieldset>
    </details>
  );
}
