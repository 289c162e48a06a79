import { setTimeout as delay } from "node:timers/promises";
import { databaseTrouble } from "../../platform/db/database-errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { type SseBatch, type StreamConnection, sseResponse } from "../../platform/http/server/sse.ts";
import type { Logger } from "../../platform/logger.ts";
import type { JoinPoint } from "../delivery/join-point.ts";
import { pastFrames, runFrames } from "../delivery/run-stream.ts";
import type { ThreadFeed } from "../delivery/thread-feed.ts";
import type { StreamMode } from "../graphs/graph-call.ts";
import type { Run, RunHead } from "./run.ts";
import { isActive } from "./run.ts";
import type { CreatedRun } from "./run-create-service.ts";
import type { RunRequest } from "./run-request.ts";
import type { RunService } from "./run-service.ts";

/** A client gets a byte at least this often while it waits for a result. */
const keepAliveMs = 5_000;
const cancelPauseMs = 1_000;
const maxCancels = 60;

export type RunAnswers = {
  logger: Logger;
  service: RunService;
  feed: ThreadFeed;
  /** What a run takes from the request that starts it. */
  callerOf(caller: Caller, headers: Headers): Pick<RunRequest, "caller" | "callerConfigurable">;
};

export function runLocation(
  run: Pick<Run, "run_id" | "thread_id">,
  stateless: boolean,
): Record<string, string> {
  const path = stateless ? `/runs/${run.run_id}` : `/threads/${run.thread_id}/runs/${run.run_id}`;
  // The SDK reads the run's id from the first and reconnects to the second.
  return { "content-location": path, location: `${path}/stream` };
}

export type StreamAnswerOptions = {
  from: JoinPoint;
  modes?: readonly StreamMode[];
  stateless: boolean;
  /** Ids let a client resume where it stopped. */
  withIds: boolean;
  cancelOnDisconnect: boolean;
  connection: StreamConnection;
};

/** SSE of one run, from there to its end. */
export function streamRun(answers: RunAnswers, run: RunHead, options: StreamAnswerOptions): Response {
  const { service, feed } = answers;
  const frames = (signal: AbortSignal): AsyncIterable<SseBatch> => {
    const common = {
      feed,
      threadId: run.thread_id,
      runId: run.run_id,
      ...options.from,
      modes: options.modes,
      withIds: options.withIds,
      shares: true,
      signal,
    };
    const isOver = async () => (await service.statusOf(run.run_id)) === "over";
    return isActive(run.status) ? runFrames({ ...common, isOver }) : pastFrames({ ...common, isOver });
  };
  return sseResponse(frames, {
    headers: runLocation(run, options.stateless),
    budget: feed.budget,
    ...options.connection,
    onDisconnect: () => {
      if (options.cancelOnDisconnect) void cancelAbandoned(answers, run);
    },
  });
}

/** The client has left, so no one would see a failure: a database that is away is waited for. */
async function cancelAbandoned({ service, logger }: RunAnswers, run: RunHead): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await service.cancel(run, "interrupt");
    } catch (error) {
      if (!databaseTrouble(error) || tries >= maxCancels) {
        logger.warn({ runId: run.run_id, err: error }, "an abandoned run could not be cancelled");
        return;
      }
      await delay(cancelPauseMs, undefined, { ref: false });
    }
  }
}

/** `result` is there when this process runs it. */
type FollowedRun = { run: RunHead; result: CreatedRun["result"] };

/** The run's final values as JSON. After a few seconds the answer begins with line breaks, to keep it alive. */
export async function waitForRun(
  answers: RunAnswers,
  created: FollowedRun,
  options: { stateless: boolean; signal: AbortSignal; cancelOnDisconnect: boolean },
): Promise<Response> {
  const headers = { "content-type": "application/json", ...runLocation(created.run, options.stateless) };
  const abandoned = new AbortController();
  const result = finalJson(answers, created, AbortSignal.any([options.signal, abandoned.signal]));
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(() => resolve("late"), keepAliveMs);
  const first = await Promise.race([result, late]);
  clearTimeout(timer);
  if (first !== "late") return new Response(first, { headers });
  return new Response(
    keepAlive(result, () => {
      abandoned.abort();
      if (options.cancelOnDisconnect) void cancelAbandoned(answers, created.run);
    }),
    { headers },
  );
}

async function finalJson(
  answers: RunAnswers,
  { run, result }: FollowedRun,
  signal: AbortSignal,
): Promise<string> {
  const local = await result;
  if (local) return local.resultJson;
  return answers.service.waitForResult(run, signal);
}

function keepAlive(result: Promise<string>, onCancel: () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let beat: NodeJS.Timeout;
  return new ReadableStream({
    start(controller) {
      beat = setInterval(() => controller.enqueue(encoder.encode("\n")), keepAliveMs);
      result.then(
        (text) => {
          clearInterval(beat);
          controller.enqueue(encoder.encode(text));
          controller.close();
        },
        (error: unknown) => {
          clearInterval(beat);
          controller.error(error);
        },
      );
      controller.enqueue(encoder.encode("\n"));
    },
    cancel() {
      clearInterval(beat);
      onCancel();
    },
  });
}
