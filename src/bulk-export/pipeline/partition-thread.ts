import { parentPort } from "node:worker_threads";
import { type FromThread, noteOf, type ToThread } from "./partition-messages.ts";
import type { PartitionFile, PartitionTask } from "./partition-task.ts";
import { writePartition } from "./partition-writer.ts";

/** A thread that writes one partition after another: building pages must not hold up the server's own loop. */
const port = parentPort;
if (port === null) throw new Error("This file runs as a thread only.");

const state: { controller: AbortController; keep: PromiseWithResolvers<void> | undefined } = {
  controller: new AbortController(),
  keep: undefined,
};
const send = (message: FromThread) => port.postMessage(message);

const report = (type: "intent" | "written") => (file: PartitionFile) => {
  state.keep = Promise.withResolvers<void>();
  send({ type, file });
  return state.keep.promise;
};

async function write(task: PartitionTask): Promise<void> {
  state.controller = new AbortController();
  const { signal } = state.controller;
  try {
    const { rows } = await writePartition(
      task,
      { intent: report("intent"), written: report("written") },
      signal,
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
    const reason = new Error("The partition is no longer wanted.");
    state.controller.abort(reason);
    state.keep?.reject(reason);
  }
});
