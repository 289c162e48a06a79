type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const hash = /\b[0-9a-f]{32}\b/g;
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)/g;
/** The line of a project's own file where a run failed. */
const place = /^(\w+)\.(ts|py):\d+$/;
const address = /http:\/\/127\.0\.0\.1:\d+/g;

/** Without what is different each time: ids by the order in which they appear, so that what belongs together still does. */
export function normalised(transcript: unknown): unknown {
  const ids = new Map<string, string>();
  const idOf = (id: string) => {
    const known = ids.get(id);
    if (known !== undefined) return known;
    const name = `id-${ids.size + 1}`;
    ids.set(id, name);
    return name;
  };
  const text = (value: string) =>
    value
      .replace(uuid, idOf)
      .replace(hash, idOf)
      .replace(time, "time")
      .replace(address, "server")
      .replace(place, "$1: line");
  const walk = (value: Json, key = ""): Json => {
    if (typeof value === "string") return text(value);
    if (typeof value === "number") return key === "timestamp" ? 0 : value;
    if (Array.isArray(value)) return value.map((item) => walk(item));
    if (typeof value !== "object" || value === null) return value;
    const keys = Object.keys(value).sort(byName);
    return Object.fromEntries(keys.map((name) => [text(name), walk(value[name]!, name)]));
  };
  return walk(JSON.parse(JSON.stringify(transcript ?? null)) as Json);
}

/** Names that are ids stay in their order. */
function byName(left: string, right: string): number {
  const [a, b] = [left, right].map((name) => name.replace(uuid, "").replace(hash, ""));
  return a! < b! ? -1 : a! > b! ? 1 : 0;
}
