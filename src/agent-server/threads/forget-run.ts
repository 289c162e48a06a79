import type { Database } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { deleteRunCheckpoints } from "../checkpoints/checkpoint-maintenance-store.ts";
import { toWire } from "../checkpoints/message-wire.ts";
import type { SaverFactory } from "../checkpoints/saver-factory.ts";
import type { GraphRegistry } from "../graphs/graph-registry.ts";
import { readThreadState } from "../graphs/graph-state.ts";
import { interruptsByTask } from "./thread-state.ts";

/** Removes what a run checkpointed and brings the thread's values back to the checkpoint before it. */
export async function forgetRunCheckpoints(
  deps: { database: Database; savers: SaverFactory; graphs: GraphRegistry },
  run: { run_id: string; thread_id: string; graph_id: string },
): Promise<void> {
  await deps.database.transaction((tx) =>
    deleteRunCheckpoints(tx, { threadId: run.thread_id, runId: run.run_id }),
  );
  const loaded = deps.graphs.get(run.graph_id);
  const graph = await loaded.resolve({}, "threads.read");
  const state = await readThreadState({ graph, saver: deps.savers.forKit(loaded.kit) }, run.thread_id);
  const interrupts = interruptsByTask(state);
  await raw`update threads set values_json = ${JSON.stringify(toWire(state.values ?? {}))},
      interrupts_json = ${JSON.stringify(interrupts)}, state_updated_at = now(), updated_at = now()
    where thread_id = ${run.thread_id}`.execute(deps.database.sql);
}
