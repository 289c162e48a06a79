import type { SeenRun } from "../storage/run-query.ts";

/** Values that filters of a project can use, most frequent first. */
export type SeenValues = {
  names: string[];
  run_types: string[];
  tags: string[];
  /** Values by key. */
  metadata: Record<string, string[]>;
  feedback_keys: string[];
};

const maxValues = 50;
const maxKeys = 40;
const maxChars = 120;

/** Of some recent runs; long texts and nested metadata are left out, as they are not useful in a list to pick from. */
export function summarize(runs: readonly SeenRun[], feedbackKeys: readonly string[]): SeenValues {
  const names = new Tally();
  const types = new Tally();
  const tags = new Tally();
  const metadata = new Map<string, Tally>();
  for (const run of runs) {
    names.add(run.name);
    types.add(run.run_type);
    for (const tag of run.tags) tags.add(tag);
    for (const [key, value] of Object.entries(run.metadata)) {
      if (typeof value === "object" || value === "") continue;
      if (!metadata.has(key)) metadata.set(key, new Tally());
      metadata.get(key)!.add(String(value));
    }
  }
  const keys = [...metadata].sort(([, one], [, other]) => other.total - one.total).slice(0, maxKeys);
  return {
    names: names.most(),
    run_types: types.most(),
    tags: tags.most(),
    metadata: Object.fromEntries(keys.map(([key, tally]) => [key, tally.most()])),
    feedback_keys: feedbackKeys.slice(0, maxValues),
  };
}

class Tally {
  readonly #counts = new Map<string, number>();
  total = 0;

  add(value: string): void {
    if (value.length > maxChars) return;
    this.total += 1;
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + 1);
  }

  most(): string[] {
    const sorted = [...this.#counts].sort(([, one], [, other]) => other - one);
    return sorted.slice(0, maxValues).map(([value]) => value);
  }
}
