import type { RunKey } from "../../../runs/stored-run.ts";
import type { StoredRow } from "./run-row.ts";
import type { RunTable } from "./run-table.ts";

export const keyOf = ({ id, workspaceId }: RunKey) => workspaceId + id;
export const keyOfRow = (row: Pick<StoredRow, "id" | "workspace_id">): RunKey => ({
  id: row.id,
  workspaceId: row.workspace_id,
});

/** The stored rows of runs, each read once; good while the lock of their workspaces is held. */
export class KnownRuns {
  readonly #table: RunTable;
  readonly #rows = new Map<string, StoredRow>();
  readonly #extras = new Map<string, string | null>();
  readonly #asked = new Set<string>();
  /** Rows of runs that stand elsewhere: their move was cut short. */
  readonly #doubles: StoredRow[] = [];

  constructor(table: RunTable) {
    this.#table = table;
  }

  /** `withExtra` for runs that are merged: of those above them it is not read, and may be as large as a request. */
  async load(keys: readonly RunKey[], { withExtra = false, areLikelyNew = false } = {}): Promise<void> {
    const missing = keys.filter((key) => !this.#asked.has(keyOf(key)));
    if (missing.length === 0) return;
    for (const key of missing) this.#asked.add(keyOf(key));
    for (const { extra_text, ...row } of await this.#table.find(missing, { withExtra, areLikelyNew })) {
      const key = keyOf(keyOfRow(row));
      if (this.#rows.has(key)) {
        this.#doubles.push(row);
        continue;
      }
      this.#rows.set(key, row);
      this.#extras.set(key, extra_text);
    }
  }

  get(key: RunKey): StoredRow | undefined {
    return this.#rows.get(keyOf(key));
  }

  /** The one payload that is read: a new one is merged with it, and it names the model. */
  extraOf(key: RunKey): string | null {
    return this.#extras.get(keyOf(key)) ?? null;
  }

  get doubles(): readonly StoredRow[] {
    return this.#doubles;
  }

  /** The rows of these runs and of all above them, as far as they are stored. */
  async chain(keys: readonly RunKey[]): Promise<StoredRow[]> {
    const chain = new Map<string, StoredRow>();
    let wanted: readonly RunKey[] = keys;
    while (wanted.length > 0) {
      await this.load(wanted);
      const next: RunKey[] = [];
      for (const key of wanted) {
        const row = this.get(key);
        if (!row || chain.has(keyOf(key))) continue;
        chain.set(keyOf(key), row);
        for (const id of row.parent_run_ids) next.push({ id, workspaceId: row.workspace_id });
      }
      wanted = next.filter((key) => !chain.has(keyOf(key)) && !this.#isAbsent(key));
    }
    return [...chain.values()];
  }

  #isAbsent(key: RunKey): boolean {
    return this.#asked.has(keyOf(key)) && !this.#rows.has(keyOf(key));
  }
}
