import { nameOf } from "./event-name.ts";

/** The events a subscriber wants. */
export type EventFilter = {
  channels: readonly string[];
  /** Prefixes; absent or empty means everywhere. */
  namespaces?: readonly (readonly string[])[] | undefined;
  /** How far below a prefix; without prefixes it means nothing. */
  depth?: number | undefined;
};

/** An event as far as filters look at it: its name in the log, and where it happened. */
export type FilteredEvent = { name: string; namespace: readonly string[] };

export const channels = [
  "values",
  "updates",
  "messages",
  "tools",
  "lifecycle",
  "input",
  "checkpoints",
  "tasks",
  "custom",
] as const;

export function isChannel(text: string): boolean {
  return (channels as readonly string[]).includes(text) || /^custom:./s.test(text);
}

export function matchesFilter(event: FilteredEvent, filter: EventFilter): boolean {
  return matchesChannels(event.name, filter.channels) && matchesNamespaces(event.namespace, filter);
}

function matchesChannels(name: string, wanted: readonly string[]): boolean {
  if (name === "input.requested") return wanted.includes("input");
  if (wanted.includes(name)) return true;
  return name.startsWith("custom:") && wanted.includes("custom");
}

function matchesNamespaces(namespace: readonly string[], { namespaces, depth }: EventFilter): boolean {
  if (!namespaces || namespaces.length === 0) return true;
  return namespaces.some(
    (prefix) =>
      hasPrefix(namespace, prefix) && (depth === undefined || namespace.length - prefix.length <= depth),
  );
}

/** `researcher` matches `researcher:uuid`; `researcher:uuid` matches only itself. */
function hasPrefix(namespace: readonly string[], prefix: readonly string[]): boolean {
  if (prefix.length > namespace.length) return false;
  return prefix.every((segment, index) => {
    const candidate = namespace[index]!;
    return candidate === segment || (!segment.includes(":") && nameOf(candidate) === segment);
  });
}
