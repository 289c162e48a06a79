import type { ReactNode } from "react";
import { useLocation } from "wouter";

export type Column<Row> = {
  key: string;
  header: ReactNode;
  cell(row: Row): ReactNode;
  align?: "left" | "right";
  /** Takes the room that is left. */
  grow?: boolean;
  /** Left out on a phone. */
  wideOnly?: boolean;
};

export type TableProps<Row> = {
  /** Its name for assistive technology. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey(row: Row): string;
  /** Where a click on the row leads; the first cell must hold the real link to it. */
  href?(row: Row): string;
  selected?(row: Row): boolean;
};

/** A plain table; on a phone its rows become cards with the columns' names. */
export function Table<Row>({ label, columns, rows, rowKey, href, selected }: TableProps<Row>) {
  const [, navigate] = useLocation();
  return (
    <div className="table-box">
      <table className="table" aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.key} scope="col" className={cellClass(column)}>
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            // The first cell holds a link; a click on the row widens its target.
            <tr
              key={rowKey(row)}
              className={href ? "clickable" : undefined}
              aria-selected={selected?.(row) || undefined}
              onClick={(event) => {
                if (!href || event.defaultPrevented || getSelection()?.isCollapsed === false) return;
                if ((event.target as HTMLElement).closest("a, button, input, select, label, dialog")) return;
                navigate(href(row));
              }}
            >
              {columns.map((column) => (
                <td
                  key={column.key}
                  className={cellClass(column)}
                  data-label={typeof column.header === "string" ? column.header : undefined}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function cellClass<Row>({ align, grow, wideOnly }: Column<Row>): string | undefined {
  return (
    [align === "right" && "right", grow && "grow", wideOnly && "wide-only"].filter(Boolean).join(" ") ||
    undefined
  );
}
