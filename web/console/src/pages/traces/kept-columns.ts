import { useCallback, useState } from "react";
import { useSession } from "../../session.ts";
import { type ColumnId, isUsual, readColumns } from "./run-columns.ts";

/** The columns a person chose last, in this browser. An address or a saved view that names some comes first. */
export function useKeptColumns(): readonly [readonly ColumnId[], (columns: readonly ColumnId[]) => void] {
  const session = useSession();
  const person = typeof session === "object" && session !== null ? session.user.id : "nobody";
  const name = `treadle.traces.columns.${person}`;
  const [columns, setColumns] = useState(() => readColumns(localStorage.getItem(name)));
  const keep = useCallback(
    (chosen: readonly ColumnId[]) => {
      setColumns(chosen);
      if (isUsual(chosen)) localStorage.removeItem(name);
      else localStorage.setItem(name, chosen.join(","));
    },
    [name],
  );
  return [columns, keep];
}
