import type { CheckpointStore } from "../../checkpoints/checkpoint-store.ts";
import { publicConfigurable } from "../../checkpoints/checkpoint-view.ts";
import { type CheckpointSaver, createCheckpointSaver } from "./checkpoint-saver.ts";
import type { GraphKit } from "./graph-kit.ts";

type RunLease = { run_id: string; attempt: number; newThread?: boolean };

/** Savers for the copies of the graph library in use: one class per copy, one light instance per run. */
export class SaverFactory {
  readonly #store: CheckpointStore;
  readonly #byKit = new Map<GraphKit, CheckpointSaver>();
  readonly #readersByKit = new Map<GraphKit, CheckpointSaver>();

  constructor(store: CheckpointStore) {
    this.#store = store;
  }

  /** For writes that belong to no run, and for what they read. */
  forKit(kit: GraphKit): CheckpointSaver {
    let saver = this.#byKit.get(kit);
    if (!saver) {
      saver = createCheckpointSaver(kit, this.#store);
      this.#byKit.set(kit, saver);
    }
    return saver;
  }

  /** Only for states that are sent over HTTP: several times as fast. */
  forReading(kit: GraphKit): CheckpointSaver {
    let saver = this.#readersByKit.get(kit);
    if (!saver) {
      saver = createCheckpointSaver(kit, this.#store, { wire: true });
      this.#readersByKit.set(kit, saver);
    }
    return saver;
  }

  /** Refused once another attempt holds the run. Every checkpoint carries the run's config and metadata. */
  forRun(
    kit: GraphKit,
    run: RunLease,
    metadata: Record<string, unknown>,
    requireHeld: () => void,
  ): CheckpointSaver {
    return this.forKit(kit).forRun({
      requireHeld,
      fence: { runId: run.run_id, attempt: run.attempt },
      metadata: publicConfigurable(metadata),
      newThread: run.newThread ?? false,
    });
  }

  /** Whether an earlier attempt of the run got as far as a checkpoint. */
  hasCheckpointOf(threadId: string, runId: string): Promise<boolean> {
    return this.#store.hasCheckpointOf(threadId, runId);
  }
}
