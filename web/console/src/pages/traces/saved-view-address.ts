import type { ViewFields } from "./saved-views-api.ts";

/** Parts of the list's address that a view keeps beside its filter, columns and order. */
const optionNames = ["range", "all", "errors", "slow", "tab"] as const;

/** What the address shows, as fields of a view. `columns`: those that are shown, chosen by the user or by default. */
export function viewOfAddress(params: URLSearchParams, columns: readonly string[], name: string): ViewFields {
  const options: Record<string, string> = {};
  for (const option of optionNames) {
    const value = params.get(option);
    if (value) options[option] = value;
  }
  return {
    name,
    filter: params.get("filter") ?? "",
    columns: [...columns],
    sort: params.get("sort"),
    options,
  };
}

/** The whole view: the link shows the same to everybody, also after the view was deleted. */
export function addressOfView(projectId: string, view: Omit<ViewFields, "name">): string {
  const params = new URLSearchParams();
  if (view.filter) params.set("filter", view.filter);
  if (view.columns.length > 0) params.set("columns", view.columns.join(","));
  if (view.sort) params.set("sort", view.sort);
  for (const option of optionNames) if (view.options[option]) params.set(option, view.options[option]);
  const text = params.toString();
  return `/traces/${projectId}${text === "" ? "" : `?${text}`}`;
}
