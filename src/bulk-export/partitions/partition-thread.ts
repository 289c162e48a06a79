import { isDeepStrictEqual } from "node:util";
import { parentPort } from "node:worker_threads";
import { createPartitionMemory, type PartitionMemory } from "./partition-memory.ts";
import { type FromThread, noteOf, type ToThread } from "./partition-messages.ts";
import type { FileLimits, PartitionFile, PartitionTask } from "./partition-task.ts";
import { writePartition } from "./partition-writer.ts";

/** A thread that writes one partition after another: building pages must not block the server's event loop. */
const port = parentPort;
if (port === null) throw new Error("This file runs as a thread only.");

type State = {
  controller: AbortController;
  keep: PromiseWithResolvers<void> | undefined;
  /** Of the last partition, for the next one. */
  memory: { limits: FileLimits; blocks: PartitionMemory } | undefined;
};
const state: State = { controller: new AbortController(), keep: undefined, memory: undefined };
const send = (message: FromThread) => port.postMessage(message);

const report = (type: "intent" | "written") => (file: PartitionFile) => {
  state.keep = Promise.withResolvers<void>();
  send({ type, file });
  return state.keep.promise;
};

function memoryFor(limits: FileLimits): PartitionMemory {
  if (!isDeepStrictEqual(state.memory?.limits, limits)) {
    state.memory = { limits, blocks: createPartitionMemory(limits) };
  }
  return state.memory!.blocks;
}

async function write(task: PartitionTask): Promise<void> {
  state.controller = new AbortController();
  const { signal } = state.controller;
  try {
    const { rows } = await writePartition(
      task,
      { intent: report("intent"), written: report("written") },
      signal,
      memoryFor(task.limits),
    );
    send({ type: "done", rows });
  } catch (error) {
    send({ type: "failed", error: noteOf(error) });
  }
}

port.on("message", (message: ToThread) => {
  if (message.type === "start") void write(message.task);
  if (message.type === "kept") state.keep?.resolve();
  if (message.type === "abort") {
    const reason = new Error("The partition is no longer needed.");
    state.controller.abort(reason);
    state.keep?.reject(reason);
  }
});
