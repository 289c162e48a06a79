/** A document of the long-term store, under a path of labels and a key. */
export type Item = {
  namespace: string[];
  key: string;
  value: Record<string, unknown>;
  created_at: Date;
  updated_at: Date;
};

/** `score` is there when the search ranked by meaning. */
export type FoundItem = Item & { score?: number };

export type PutItem = {
  namespace: string[];
  key: string;
  value: Record<string, unknown>;
  /** Which texts to search by meaning: the configured ones, none, or these paths. */
  index?: false | string[] | null | undefined;
  /** Undefined: the configured time to live. Null: for ever. */
  ttlMinutes?: number | null | undefined;
};

export type ItemRef = { namespace: string[]; key: string };

export type StoreTtl = {
  defaultTtlMinutes?: number;
  refreshOnRead?: boolean;
  sweepIntervalMinutes?: number;
};

/** Both are part of one index entry, which Postgres limits to about 2,700 bytes. */
export const maxNamespaceBytes = 1_024;
export const maxKeyBytes = 1_024;

export type Fault = { path: number[]; message: string };

/** What is wrong with a path of labels; null when nothing is. */
export function labelFault(labels: readonly unknown[]): Fault | null {
  for (const [index, label] of labels.entries()) {
    if (typeof label !== "string") return { path: [index], message: "A namespace label must be text" };
    if (label === "") return { path: [index], message: "A namespace label must not be empty" };
    if (label.includes(".")) {
      return { path: [index], message: `The namespace label "${label}" must not contain a period` };
    }
  }
  if (Buffer.byteLength(labels.join(".")) > maxNamespaceBytes) {
    return { path: [], message: `A namespace must not be longer than ${maxNamespaceBytes} bytes in all` };
  }
  return null;
}

/** The namespace of an item: at least one label, and the root that the graph library keeps for itself is not one. */
export function namespaceFault(namespace: readonly unknown[]): Fault | null {
  if (namespace.length === 0) return { path: [], message: "The namespace must have at least one label" };
  const fault = labelFault(namespace);
  if (fault) return fault;
  if (namespace[0] === "langgraph") {
    return { path: [0], message: 'The first namespace label must not be "langgraph"' };
  }
  return null;
}

export function keyFault(key: unknown): string | null {
  if (typeof key !== "string" || key === "") return "The key must be a text of at least one character";
  if (Buffer.byteLength(key) > maxKeyBytes) return `The key must not be longer than ${maxKeyBytes} bytes`;
  return null;
}

export function joinNamespace(labels: readonly string[]): string {
  return labels.join(".");
}

export function splitNamespace(text: string): string[] {
  return text.split(".");
}

export function expiryOf(ttlMinutes: number | null, now: Date): Date | null {
  return ttlMinutes === null ? null : new Date(now.getTime() + ttlMinutes * 60_000);
}

/** The last write of an item wins; sorted, so that concurrent writers take their locks in one order. */
export function lastWrites<Write extends ItemRef>(writes: readonly Write[]): Write[] {
  const byRef = new Map(writes.map((write) => [refText(write), write]));
  return [...byRef.keys()].sort().map((ref) => byRef.get(ref)!);
}

export function refText(ref: ItemRef): string {
  return `${joinNamespace(ref.namespace)}\u0000${ref.key}`;
}

/** JSON text as jsonb takes it: NUL and half surrogates, in names too, become U+FFFD. */
export function storableJson(json: string): string {
  return refusedEscape.test(json) ? JSON.stringify(storable(JSON.parse(json))) : json;
}

const refusedEscape = /\\u0000|\\ud[89a-f]/i;

function storable(value: unknown): unknown {
  if (typeof value === "string") return storableText(value);
  if (Array.isArray(value)) return value.map(storable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [storableText(name), storable(inner)]),
  );
}

export function storableText(text: string): string {
  return text.replaceAll("\u0000", "\uFFFD").toWellFormed();
}
