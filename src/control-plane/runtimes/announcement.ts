import type { Announced } from "./instance.ts";

export type { Announced };

/** Which graphs a server serves and which are broken, from its ready file; null for anything else. */
export function readAnnounced(text: string): Announced | null {
  try {
    const parsed = JSON.parse(text) as { graphs?: unknown; broken?: unknown } | null;
    if (!Array.isArray(parsed?.graphs)) return null;
    const broken = Object.entries((parsed.broken ?? {}) as object).map(([graph, why]) => [
      graph,
      String(why),
    ]);
    return { graphs: parsed.graphs.map(String), broken: Object.fromEntries(broken) };
  } catch {
    // The project's own code put something else there.
    return null;
  }
}
