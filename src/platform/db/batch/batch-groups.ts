export type BatchGroupsOptions = {
  /** A flush that takes longer is of a group that should not keep others waiting. */
  slowMs: number;
  /** How many groups have a flush of their own, at once. */
  maxAlone: number;
};

/**
 * Rows of many groups are written together, which costs least, until one of them keeps the others waiting: because it is busy
 * elsewhere, which its writer says, or because it is slow, which is found by halving. Such a group has flushes of its own until one
 * is fast.
 */
export class BatchGroups {
  readonly #options: BatchGroupsOptions;
  readonly #inFlight = new Set<string>();
  readonly #alone = new Set<string>();
  /** One of these is slow. */
  readonly #suspects = new Set<string>();

  constructor(options: BatchGroupsOptions) {
    this.#options = options;
  }

  /** Whether one of these may be taken now: looking through all rows to find that out would cost too much. */
  hasFree(groups: Iterable<string>): boolean {
    for (const group of groups) if (!this.#inFlight.has(group)) return true;
    return false;
  }

  /** Begins a batch; asks for each row, in order, whether its group may be part of it. */
  begin(): (group: string) => boolean {
    const taken = new Set<string>();
    const most = Math.ceil(this.#suspects.size / 2);
    const aloneInFlight = [...this.#inFlight].filter((group) => this.#alone.has(group)).length;
    const mayBeAlone = aloneInFlight < this.#options.maxAlone;
    let kind: "alone" | "suspects" | "others" | undefined;
    return (group) => {
      if (taken.has(group)) return true;
      if (this.#inFlight.has(group)) return false;
      const own = this.#kindOf(group);
      if (kind === undefined ? own === "alone" && !mayBeAlone : own !== kind || kind === "alone")
        return false;
      if (own === "suspects" && taken.size >= most) return false;
      kind = own;
      taken.add(group);
      return true;
    };
  }

  taken(groups: Iterable<string>): void {
    for (const group of groups) this.#inFlight.add(group);
  }

  /** It is busy elsewhere. */
  setAlone(group: string): void {
    this.#alone.add(group);
  }

  ended(groups: ReadonlySet<string>, tookMs: number): void {
    const [only] = groups;
    const isMixed = groups.size > 1;
    for (const group of groups) this.#inFlight.delete(group);
    if (tookMs < this.#options.slowMs) {
      for (const group of groups) this.#suspects.delete(group);
      if (!isMixed && only !== undefined) this.#alone.delete(only);
      return;
    }
    // All may be slow at once, because of the database: then most are still written together.
    const areSuspects = [...groups].some((group) => this.#suspects.has(group));
    if (this.#suspects.size > 0 && !areSuspects) return;
    this.#suspects.clear();
    if (this.#alone.size >= this.#options.maxAlone) return;
    if (isMixed) for (const group of groups) this.#suspects.add(group);
    else if (areSuspects && only !== undefined) this.#alone.add(only);
  }

  #kindOf(group: string): "alone" | "suspects" | "others" {
    if (this.#alone.has(group)) return "alone";
    return this.#suspects.has(group) ? "suspects" : "others";
  }
}
