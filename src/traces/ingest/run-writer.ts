import { Batcher, type BatcherStats, busyElsewhere } from "../../platform/db/batch/batcher.ts";
import type { QueuedRun } from "../runs/flush-plan.ts";
import type { RunChange } from "../runs/run-change.ts";
import type { RunWriting } from "../storage/run-storage.ts";

/** Clients wait for a minute or so; those whose runs come next wait for this flush, too. */
const patienceMs = 15_000;

/** Group commit of runs: changes of one run are merged while they wait and never written by two lanes at once. */
export class RunWriter {
  readonly #batcher: Batcher<QueuedRun, ReadonlySet<RunChange>>;

  constructor({ writing }: { writing: Pick<RunWriting, "write" | "atOnce"> }) {
    const { rows: maxRows, bytes: maxBytes, workspaces } = writing.atOnce;
    this.#batcher = new Batcher<QueuedRun, ReadonlySet<RunChange>>({
      name: "trace_runs",
      ...(workspaces ? { lanes: workspaces, groupOf: (row) => row.workspaceId } : { lanes: 2 }),
      ...{ maxRows, maxBytes },
      patienceMs,
      maxQueuedRows: 10_000,
      maxQueuedBytes: 64_000_000,
      keyOf: (row) => `${row.workspaceId}${row.id}`,
      merge: (older, newer) => ({
        ...older,
        changes: [...older.changes, ...newer.changes],
        bytes: older.bytes + newer.bytes,
      }),
      bytesOf: (row) => row.bytes,
      async flush(rows) {
        const busy = new Set<string>();
        const isMixed = rows.some((row) => row.workspaceId !== rows[0]?.workspaceId);
        const refused = await writing.write(rows, isMixed ? (id) => busy.add(id) : undefined);
        return rows.map((row) => (busy.has(row.workspaceId) ? busyElsewhere : refused));
      },
    });
  }

  /** Resolves once the change is committed. False: refused, because its sender may not write to the run's project. */
  async add(change: RunChange): Promise<boolean> {
    const { id, workspaceId, bytes } = change;
    const refused = await this.#batcher.add({ id, workspaceId, changes: [change], bytes });
    return !refused.has(change);
  }

  drain(): Promise<void> {
    return this.#batcher.drain();
  }

  stats(): BatcherStats {
    return this.#batcher.stats();
  }
}
