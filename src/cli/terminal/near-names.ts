import { distance as distanceOf } from "fastest-levenshtein";

/** Names a person may have meant, the nearest first. */
export function nearNames(given: string, names: readonly string[], most = 3): string[] {
  const wanted = given.toLowerCase();
  return names
    .map((name) => ({ name, distance: distanceOf(wanted, name.toLowerCase()) }))
    .filter(
      ({ name, distance }) =>
        distance <= Math.max(1, Math.floor(Math.max(wanted.length, name.length) * 0.4)) ||
        (wanted.length > 2 && name.toLowerCase().includes(wanted)),
    )
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ name }) => name);
}

/** ` Did you mean a or b?`, or nothing. */
export function suggestion(given: string, names: readonly string[]): string {
  const near = nearNames(given, names);
  return near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
}
