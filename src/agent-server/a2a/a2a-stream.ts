import type { SseFrame } from "../../platform/http/server/sse.ts";
import type { Logger } from "../../platform/logger.ts";
import { runFrames } from "../delivery/run-stream.ts";
import type { ThreadFeed } from "../delivery/thread-feed.ts";
import { isObject, type RpcId, rpcFailure, rpcResult } from "../json-rpc/json-rpc.ts";
import { describeFailure } from "../json-rpc/rpc-exchange.ts";
import { isActive } from "../runs/run.ts";
import type { Dialect } from "./a2a-dialect.ts";
import {
  agentMessage,
  type TaskRun,
  type TaskStatus,
  textOfContent,
  toArtifact,
  toStatus,
  toTask,
} from "./a2a-task.ts";

export type TaskStreamOptions = {
  dialect: Dialect;
  /** The request that every event answers. */
  rpcId: RpcId;
  taskId: string;
  run: TaskRun["run"];
  /** Events of the run come after this place in its thread's log. */
  afterSeq: number;
  feed: ThreadFeed;
  logger: Logger;
  isOver(): Promise<boolean>;
  /** The task as it is now. */
  find(): Promise<TaskRun>;
};

/** A task as it goes: the agent's messages while it works, then what it made, then how it ended. */
export async function* taskFrames(
  options: TaskStreamOptions,
  signal: AbortSignal,
): AsyncGenerator<SseFrame[]> {
  const { taskId, run, feed, isOver } = options;
  const frame = (result: unknown): SseFrame => ({
    event: "message",
    data: JSON.stringify(rpcResult(options.rpcId, result)),
  });
  const ids = { taskId, contextId: run.thread_id };
  const { dialect } = options;
  const status = (value: TaskStatus, final: boolean) =>
    frame(dialect.status({ ...ids, status: value, final }));
  const source = {
    feed,
    threadId: run.thread_id,
    runId: run.run_id,
    afterSeq: options.afterSeq,
    withIds: false,
    shares: false,
    signal,
    isOver,
  };
  try {
    if (isActive(run.status)) {
      const begun: TaskRun = { taskId, run, isNewest: true, values: {}, interrupts: [] };
      yield [dialect.startsWithTask ? frame(dialect.sent(toTask(begun, 0))) : status(toStatus(begun), false)];
      for await (const page of runFrames(source)) {
        const texts = page.flatMap((each) => (each instanceof Uint8Array ? [] : spokenIn(each)));
        if (texts.length === 0) continue;
        yield texts.map(({ id, text }) => {
          const message = agentMessage(options, id ?? run.run_id, [{ kind: "text", text }]);
          return status({ state: "working", timestamp: run.updated_at.toISOString(), message }, false);
        });
      }
    }
    if (signal.aborted) return;
    const ended = await options.find();
    const artifact = toArtifact(ended);
    const made = artifact ? [frame(dialect.artifact({ ...ids, artifact }))] : [];
    yield [...made, status(toStatus(ended), true)];
  } catch (error) {
    const failure = describeFailure(error, options.logger, "message/stream");
    const answer = rpcFailure(options.rpcId, dialect.error(failure, error));
    yield [{ event: "message", data: JSON.stringify(answer) }];
  }
}

/** The agent's texts in one event of the run, if any. */
function spokenIn(frame: SseFrame): { id: string | undefined; text: string }[] {
  if (frame.event !== "messages") return [];
  const [message] = JSON.parse(frame.data) as unknown[];
  if (!isObject(message) || (message.type !== "ai" && message.type !== "AIMessageChunk")) return [];
  const text = textOfContent(message.content);
  return text === "" ? [] : [{ id: typeof message.id === "string" ? message.id : undefined, text }];
}
