import type { Announced } from "./instance.ts";

export type { Announced };

/** What a server says about its graphs when it serves; null for anything else. */
export function readAnnounced(text: string): Announced | null {
  try {
    const said = JSON.parse(text) as { graphs?: unknown; broken?: unknown } | null;
    if (!Array.isArray(said?.graphs)) return null;
    const broken = Object.entries((said.broken ?? {}) as object).map(([graph, why]) => [graph, String(why)]);
    return { graphs: said.graphs.map(String), broken: Object.fromEntries(broken) };
  } catch {
    // The project's own code put something else there.
    return null;
  }
}
