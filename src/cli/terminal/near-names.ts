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

/** Letters to change, add, drop, or swap with their neighbour. */
function distanceOf(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, index) => index)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= one.length; row += 1) {
    rows.push([row]);
    for (let column = 1; column <= other.length; column += 1) {
      const same = one[row - 1] === other[column - 1];
      const swapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      const ways = [
        at(row - 1, column - 1) + (same ? 0 : 1),
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        ...(swapped ? [at(row - 2, column - 2) + 1] : []),
      ];
      rows[row]?.push(Math.min(...ways));
    }
  }
  return at(one.length, other.length);
}

/** ` Did you mean a or b?`, or nothing. */
export function suggestion(given: string, names: readonly string[]): string {
  const near = nearNames(given, names);
  return near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
}
