import { Batcher, type BatcherStats } from "../../platform/db/batch/batcher.ts";
import type { QueuedRun } from "../runs/flush-plan.ts";
import type { RunChange } from "../runs/run-change.ts";
import type { RunWriting } from "../storage/run-storage.ts";

/** Group commit of runs: changes of one run are merged while they wait and never written by two lanes at once. */
export class RunWriter {
  readonly #batcher: Batcher<QueuedRun, ReadonlySet<RunChange>>;

  constructor({ writing }: { writing: Pick<RunWriting, "write"> }) {
    this.#batcher = new Batcher<QueuedRun, ReadonlySet<RunChange>>({
      name: "trace_runs",
      lanes: 2,
      maxRows: 500,
      maxBytes: 4_000_000,
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
        const refused = await writing.write(rows);
        return rows.map(() => refused);
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
