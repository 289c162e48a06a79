const customPrefix = "custom:";

/**
 * The name an event is filed under: its method, or `custom:<name>` for a custom event with a name of its own. So a
 * filter need not look into the data.
 */
export function eventNameOf(method: string, data: unknown): string {
  if (method !== "custom") return method;
  const name = (data as { name?: unknown } | null | undefined)?.name;
  return typeof name === "string" && name !== "" ? `${customPrefix}${name}` : "custom";
}

export function methodOf(eventName: string): string {
  return eventName.startsWith(customPrefix) ? "custom" : eventName;
}

/** The node of a namespace segment `node:task-id`. */
export function nameOf(segment: string): string {
  const colon = segment.indexOf(":");
  return colon === -1 ? segment : segment.slice(0, colon);
}
