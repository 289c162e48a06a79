import type { PreviewBody } from "./export-api.ts";
import { defaultFields } from "./export-fields.ts";
import { hoursProblem, localText, utcTime, windowProblem } from "./form-rules.ts";

/** What the form of a new export holds, and what it means. Pure. */
export type NewExportForm = {
  /** An id, or `all` for all experiments. */
  project: string;
  kind: "once" | "schedule";
  /** As the browser's own field of day and time has them; UTC. */
  from: string;
  to: string;
  hours: string;
  filter: string;
  destination: string;
  compression: string;
  fields: ReadonlySet<string>;
};

export const wireNames: Record<string, keyof NewExportForm> = {
  session_id: "project",
  all_experiments: "project",
  start_time: "from",
  end_time: "to",
  interval_hours: "hours",
  filter: "filter",
  bulk_export_destination_id: "destination",
  export_fields: "fields",
};

const dayMs = 86_400_000;

/** Whole UTC days, today among them. */
export function lastDays(now: Date, days: number): { from: string; to: string } {
  const tomorrow = new Date(Math.ceil((now.getTime() + 1) / dayMs) * dayMs);
  return { from: localText(new Date(tomorrow.getTime() - days * dayMs)), to: localText(tomorrow) };
}

/** What the address asks for, and sensible things for the rest. */
export function beginForm(now: Date, asked: URLSearchParams): NewExportForm {
  const time = (name: string) => {
    const at = Date.parse(asked.get(name) ?? "");
    return Number.isNaN(at) ? null : localText(new Date(at));
  };
  const days = lastDays(now, 7);
  return {
    project: asked.get("project") ?? "",
    kind: "once",
    from: time("from") ?? days.from,
    to: time("to") ?? days.to,
    hours: "24",
    filter: asked.get("filter") ?? "",
    destination: asked.get("destination") ?? "",
    compression: "zstandard",
    fields: defaultFields,
  };
}

export type Problems = Partial<Record<keyof NewExportForm, string | null>>;

export function problemsOf(form: NewExportForm): Problems {
  return {
    project: form.project === "" ? "Which runs? Choose a project, or all experiments." : null,
    from: form.from === "" ? "When does it start?" : null,
    to: form.kind === "once" ? windowProblem(form.from, form.to) : null,
    hours: form.kind === "schedule" ? hoursProblem(form.hours) : null,
    destination: form.destination === "" ? "Choose where to write to." : null,
    fields: form.fields.size === 0 ? "Choose at least one column." : null,
  };
}

function selectionOf(form: NewExportForm): PreviewBody {
  return {
    ...(form.project === "all" ? { all_experiments: true } : { session_id: form.project }),
    start_time: utcTime(form.from),
    ...(form.kind === "once" ? { end_time: utcTime(form.to) } : { interval_hours: Number(form.hours) }),
    ...(form.filter.trim() === "" ? {} : { filter: form.filter }),
  };
}

/** Null while it would only be refused. */
export function previewOf(form: NewExportForm): PreviewBody | null {
  const { project, from, to, hours } = problemsOf(form);
  return project || from || to || hours ? null : selectionOf(form);
}

export function bodyOf(form: NewExportForm) {
  return {
    bulk_export_destination_id: form.destination,
    ...selectionOf(form),
    compression: form.compression,
    format_version: "v2_beta",
  };
}
