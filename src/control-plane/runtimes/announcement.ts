import type { Announced } from "./instance.ts";

export type { Announced };

/** What a server says about its graphs when it serves; null for anything else. */
export function readAnnounced(text: string): Announced | null {
  const start = text.indexOf('{"url"');
  if (start === -1) return null;
  try {
    const said = JSON.parse(text.slice(start)) as { graphs?: unknown; broken?: unknown };
    if (!Array.isArray(said.graphs)) return null;
    const broken = Object.entries((said.broken ?? {}) as object).map(([graph, why]) => [graph, String(why)]);
    return { graphs: said.graphs.map(String), broken: Object.fromEntries(broken) };
  } catch {
    // Somebody printed something that begins alike.
    return null;
  }
}
