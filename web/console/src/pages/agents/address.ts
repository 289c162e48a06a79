/** The same page with some of its search changed; null leaves a part out. What it names is kept otherwise. */
export function addressWith(
  path: string,
  search: URLSearchParams,
  patch: Readonly<Record<string, string | null>>,
): string {
  const next = new URLSearchParams(search);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** Several names in one part of the search, separated by commas. */
export function namesIn(search: URLSearchParams, name: string): string[] {
  return (search.get(name) ?? "").split(",").filter(Boolean);
}

/** The names with this one, or without it where it was among them. */
export function toggled(names: readonly string[], name: string): string[] {
  return names.includes(name) ? names.filter((each) => each !== name) : [...names, name];
}
