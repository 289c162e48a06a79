import { eventDifferences } from "./event-differences.ts";
import { graphDifferences } from "./graph-differences.ts";
import { isRecord, type Json } from "./json.ts";
import { messageDifferences } from "./message-differences.ts";
import { protocolDifferences } from "./protocol-differences.ts";
import { stateDifferences } from "./state-differences.ts";

/** Something the two libraries do differently and this server passes on. */
export type Difference = {
  /** Who does what, and why it stays. */
  reason: string;
  /** Only in these journeys; in all where it is missing. */
  journeys?: RegExp;
  /** The value without the difference; undefined where it is left out. `key`: its name in the object around it. */
  mend(value: Json, key: string): Json | undefined;
};

/** Every difference that is allowed, by name. Each must be met: one that is gone from both libraries goes from here. */
export const differences: Record<string, Difference> = {
  ...messageDifferences,
  ...eventDifferences,
  ...stateDifferences,
  ...graphDifferences,
  ...protocolDifferences,
};

/** The transcript of a journey without what may differ; `met` gets the names of the differences it had. */
export function withoutDifferences(journey: string, transcript: unknown, met: Set<string>): Json {
  const own = Object.entries(differences).filter(([, { journeys }]) => journeys?.test(journey) ?? true);
  let value = JSON.parse(JSON.stringify(transcript ?? null)) as Json;
  for (const [name, { mend }] of own) {
    const mended = walk(value, "", mend) ?? null;
    if (JSON.stringify(mended) !== JSON.stringify(value)) met.add(name);
    value = mended;
  }
  return value;
}

/** What is inside first. */
function walk(value: Json, key: string, mend: Difference["mend"]): Json | undefined {
  if (Array.isArray(value)) return mend(mendAll(value, mend), key);
  if (!isRecord(value)) return mend(value, key);
  const entries = Object.entries(value).flatMap(([name, item]) => {
    const mended = walk(item, name, mend);
    return mended === undefined ? [] : [[name, mended] as const];
  });
  return mend(Object.fromEntries(entries), key);
}

function mendAll(items: Json[], mend: Difference["mend"]): Json[] {
  return items.flatMap((item) => {
    const mended = walk(item, "", mend);
    return mended === undefined ? [] : [mended];
  });
}
