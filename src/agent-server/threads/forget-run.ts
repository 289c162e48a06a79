import type { Database } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { deleteRunCheckpoints } from "../checkpoints/checkpoint-maintenance-store.ts";
import { readCheckpointValues } from "../checkpoints/checkpoint-reader.ts";
import type { CheckpointStore } from "../checkpoints/checkpoint-store.ts";
import { toWire } from "../checkpoints/message-wire.ts";
import type { RunnableGraphs } from "../graphs/graph-registry.ts";
import { interruptsByTask } from "../graphs/state-snapshot.ts";
import { wordBitsOf } from "./thread-words.ts";

export type ForgetRunOptions = {
  database: Database;
  checkpoints: CheckpointStore;
  graphs: RunnableGraphs;
};

/** Removes what a run checkpointed and brings the thread back to how the run before it left it. */
export async function forgetRunCheckpoints(
  options: ForgetRunOptions,
  run: { run_id: string; thread_id: string; graph_id: string },
): Promise<void> {
  const { database, checkpoints, graphs } = options;
  const threadId = run.thread_id;
  await database.transaction((tx) => deleteRunCheckpoints(tx, { threadId, runId: run.run_id }));
  const latest = await readCheckpointValues(checkpoints, { threadId, checkpointNs: "" });
  const { graph_id = run.graph_id, assistant_id } = (latest?.metadata ?? {}) as Record<
    string,
    string | undefined
  >;
  const graph = graphs.find(graph_id) ?? graphs.get(run.graph_id);
  const opened = await graph.open({ config: {}, access: "threads.read", writes: true });
  const state = await opened.state(threadId);
  const metadata = latest ? { graph_id, ...(assistant_id ? { assistant_id } : {}) } : {};
  const valuesJson = JSON.stringify(toWire(state.values ?? {}));
  await raw`update threads set values_json = ${valuesJson}, trigrams = ${wordBitsOf(valuesJson)}::text::bit(1024),
      interrupts_json = ${JSON.stringify(interruptsByTask(state))},
      metadata = metadata || ${JSON.stringify(metadata)}::jsonb, state_updated_at = now(), updated_at = now()
    where thread_id = ${threadId}`.execute(database.sql);
}
