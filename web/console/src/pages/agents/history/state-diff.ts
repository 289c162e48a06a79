/** What a step changed in the state of a thread. */
export type Change = {
  /** The field of the state. */
  channel: string;
  /** Within the field: keys and places, or the id of an item that has one. */
  path: readonly string[];
  kind: "added" | "removed" | "changed";
  before?: unknown;
  after?: unknown;
};

type Fields = Readonly<Record<string, unknown>>;
const deepest = 3;

export function diffState(before: Fields, after: Fields): Change[] {
  const channels = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...channels].flatMap((channel) =>
    diffValue(before[channel], after[channel]).map((change) => ({ channel, ...change })),
  );
}

type ValueChange = Omit<Change, "channel">;

function diffValue(before: unknown, after: unknown, path: readonly string[] = []): ValueChange[] {
  if (isSame(before, after)) return [];
  if (before === undefined) return [{ path, kind: "added", after }];
  if (after === undefined) return [{ path, kind: "removed", before }];
  if (path.length < deepest) {
    if (Array.isArray(before) && Array.isArray(after)) return diffParts(keyed(before), keyed(after), path);
    if (isFields(before) && isFields(after)) {
      // A message that changed is shown as a whole: what it said and what it says now.
      if (typeof before.type === "string" && "content" in before)
        return [{ path, kind: "changed", before, after }];
      return diffParts(new Map(Object.entries(before)), new Map(Object.entries(after)), path);
    }
  }
  return [{ path, kind: "changed", before, after }];
}

function diffParts(
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
  path: readonly string[],
): ValueChange[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].flatMap((key) => diffValue(before.get(key), after.get(key), [...path, key]));
}

/** Items with ids are matched by them, in any position; others by their position. */
function keyed(items: readonly unknown[]): Map<string, unknown> {
  return new Map(
    items.map((item, place) => {
      const id = isFields(item) ? item.id : undefined;
      return [typeof id === "string" ? id : String(place), item];
    }),
  );
}

function isFields(value: unknown): value is Fields {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** By their values: a server may send the same fields in another order. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, place) => isSame(item, other[place]));
  if (!isFields(one) || !isFields(other)) return false;
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].every((key) => isSame(one[key], other[key]));
}

type DoneTask = { name: string; result?: unknown };

/** The nodes of a step that wrote to a field; all of them where that is not known. */
export function writersOf(tasks: readonly DoneTask[], channel: string): string[] {
  const names = (some: readonly DoneTask[]) => [...new Set(some.map(({ name }) => name))];
  const writers = tasks.filter(({ result }) => isFields(result) && channel in result);
  return names(writers.length > 0 ? writers : tasks);
}
