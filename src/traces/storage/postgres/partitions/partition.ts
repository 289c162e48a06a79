/** One month of runs. `from` is inclusive, `to` exclusive; both are UTC dates. */
export type Month = { name: string; from: string; to: string };

/** Older and far later times go to the default partition: a wrong clock must not make tables without end. */
const firstYear = 2015;
const monthsAhead = 2;

/** The month a time (UTC text) falls into; null when it belongs to the default partition. */
export function monthOf(time: string, now: Date): Month | null {
  const year = Number(time.slice(0, 4));
  const month = Number(time.slice(5, 7));
  const ahead = (year - now.getUTCFullYear()) * 12 + (month - 1 - now.getUTCMonth());
  if (year < firstYear || ahead > monthsAhead) return null;
  return monthAt(year, month);
}

/** The months made ahead of their first run. */
export function monthsToPrepare(now: Date): Month[] {
  return Array.from({ length: monthsAhead }, (_, index) => {
    const date = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + index, 1));
    return monthAt(date.getUTCFullYear(), date.getUTCMonth() + 1);
  });
}

function monthAt(year: number, month: number): Month {
  const following = month === 12 ? `${year + 1}-01` : `${year}-${String(month + 1).padStart(2, "0")}`;
  const own = `${year}-${String(month).padStart(2, "0")}`;
  return { name: `trace_runs_p${own.replace("-", "")}`, from: `${own}-01`, to: `${following}-01` };
}

/** The month of a partition's name; null for the default partition and for foreign names. */
export function monthOfName(name: string): Month | null {
  const match = /^trace_runs_p(\d{4})(\d{2})$/.exec(name);
  return match ? monthAt(Number(match[1]), Number(match[2])) : null;
}
