import { Command } from "@langchain/langgraph";
import { z } from "zod";
import { newId } from "../platform/ids.ts";
import { type CommandEnvelope, readParams } from "../platform/streaming-protocol/command.ts";
import { ProtocolError } from "../platform/streaming-protocol/protocol-error.ts";
import { unnamedAssistant } from "../platform/streaming-protocol/unnamed-assistant.ts";
import type { ThreadBook } from "./thread-book.ts";
import type { MultitaskStrategy } from "./thread-runs.ts";

const json = z.record(z.string(), z.unknown());
const configShape = z
  .object({ configurable: json.default({}), recursion_limit: z.int().min(1).max(1000).optional() })
  .prefault({});

const runStart = z.object({
  assistant_id: z.string().nullish(),
  input: json.nullish(),
  config: configShape,
  metadata: json.nullish(),
  multitaskStrategy: z.enum(["enqueue", "interrupt", "reject", "rollback"]).nullish(),
});

const response = z.object({
  interrupt_id: z.string(),
  response: z.unknown().optional(),
  namespace: z.unknown().optional(),
});
const inputRespond = z.object({
  interrupt_id: z.string().optional(),
  response: z.unknown().optional(),
  responses: z.array(response).min(1).optional(),
  update: json.nullish(),
  config: configShape,
  metadata: json.nullish(),
});

// The first checkpoint of a thread has an id whose variant bits are not those of a uuid.
const checkpointId = z.guid();
const stateGet = z.object({ keys: z.array(z.string()).optional() });
const listCheckpoints = z.object({
  limit: z.int().min(1).max(100).default(20),
  before: checkpointId.optional(),
});
const stateFork = z.object({ checkpoint_id: checkpointId, input: json.nullish(), config: configShape });

type Configurable = Record<string, unknown>;

/** Carries out one command and returns its result. What cannot be done is a `ProtocolError`. */
export async function runCommand(
  book: ThreadBook,
  threadId: string,
  command: CommandEnvelope,
  identity: Configurable = {},
): Promise<unknown> {
  const { method } = command;
  const params = command.params ?? {};
  switch (method) {
    case "run.start": {
      const { input, assistant_id, ...given } = readParams(runStart, params, method);
      const named = assistant_id === unnamedAssistant ? undefined : assistant_id;
      const run = { ...given, assistant_id: named ?? book.defaultAssistantId, input: input ?? null };
      return startRun(book, threadId, run, identity);
    }
    case "input.respond":
      return answerInterrupts(book, threadId, readParams(inputRespond, params, method), identity);
    case "state.get": {
      const { keys } = readParams(stateGet, params, method);
      const { values, checkpoint } = await book.state(threadId);
      const wanted = keys ? Object.fromEntries(keys.map((key) => [key, values[key]])) : values;
      return { values: wanted, checkpoint: { id: checkpoint?.checkpoint_id, ns: checkpoint?.checkpoint_ns } };
    }
    case "state.listCheckpoints": {
      const states = await book.history(threadId, readParams(listCheckpoints, params, method));
      return {
        checkpoints: states.map(({ checkpoint, created_at, metadata, parent_checkpoint }) => ({
          id: checkpoint?.checkpoint_id,
          parent_id: parent_checkpoint?.checkpoint_id,
          timestamp: created_at,
          step: metadata.step,
          source: metadata.source,
        })),
      };
    }
    case "state.fork": {
      const { checkpoint_id, input, config } = readParams(stateFork, params, method);
      mustHaveCheckpoint(book, threadId, checkpoint_id);
      const { assistantId } = book.session(threadId);
      const configurable = { ...config.configurable, checkpoint_id };
      const run = { assistant_id: assistantId, input: input ?? null, config: { ...config, configurable } };
      return { ...(await startRun(book, threadId, run, identity)), thread_id: threadId };
    }
    default:
      throw new ProtocolError("unknown_command", `This application has no command "${method.slice(0, 80)}".`);
  }
}

type RunStart = Omit<z.infer<typeof runStart>, "input" | "assistant_id"> & {
  assistant_id: string;
  input: Record<string, unknown> | Command | null;
};

async function startRun(
  book: ThreadBook,
  threadId: string,
  request: RunStart,
  identity: Configurable,
): Promise<{ run_id: string }> {
  const found = book.assistant(request.assistant_id);
  if (!found) {
    throw new ProtocolError(
      "invalid_argument",
      `There is no assistant "${request.assistant_id}". GET /api/assistants lists them.`,
    );
  }
  const { checkpoint_id, ...configurable } = ownSettings(request.config.configurable);
  if (checkpoint_id !== undefined) mustHaveCheckpoint(book, threadId, String(checkpoint_id));
  if (book.isFull(threadId)) {
    throw new ProtocolError(
      "invalid_argument",
      "This thread has reached the limit of steps in memory. Start a new one.",
    );
  }
  const strategy = strategyOf(request.multitaskStrategy);
  if (!book.has(threadId)) await book.makeRoom();
  const session = book.session(threadId);
  const runId = newId();
  // A branch begins: what was streamed on the one that is left must not be replayed into it.
  if (checkpoint_id !== undefined && session.runs.activeRunId === null) session.log.clear();
  session.assistantId = request.assistant_id;
  session.runs.start(
    {
      runId,
      assistantId: request.assistant_id,
      graph: found.graph,
      input: request.input,
      config: {
        configurable: {
          ...found.assistant.settings,
          ...configurable,
          ...identity,
          thread_id: threadId,
          checkpoint_ns: "",
          // What stands here is kept with every checkpoint, so each of them names the run that wrote it.
          run_id: runId,
          assistant_id: request.assistant_id,
          ...(checkpoint_id === undefined ? {} : { checkpoint_id }),
        },
        metadata: { ...request.metadata, run_id: runId, assistant_id: request.assistant_id },
        ...(request.config.recursion_limit ? { recursionLimit: request.config.recursion_limit } : {}),
      },
    },
    strategy,
  );
  return { run_id: runId };
}

/** A run that stopped at `interrupt()` continues with the answers, on the graph that asked. */
async function answerInterrupts(
  book: ThreadBook,
  threadId: string,
  request: z.infer<typeof inputRespond>,
  identity: Configurable,
): Promise<Record<string, never>> {
  const answers = request.responses ?? [{ interrupt_id: request.interrupt_id, response: request.response }];
  const { interrupts } = await book.state(threadId);
  const pending = new Set(interrupts.map((interrupt) => (interrupt as { id?: string }).id));
  for (const { interrupt_id } of answers) {
    if (interrupt_id === undefined || !pending.has(interrupt_id)) {
      throw new ProtocolError(
        "no_such_interrupt",
        `This thread has no open interrupt ${interrupt_id ?? "(no id sent)"}. It may have been answered already.`,
      );
    }
  }
  const resume = Object.fromEntries(answers.map(({ interrupt_id, response }) => [interrupt_id, response]));
  const run: RunStart = {
    assistant_id: book.session(threadId).assistantId,
    input: new Command({ resume, ...(request.update ? { update: request.update } : {}) }),
    config: request.config,
    metadata: request.metadata,
    // Two people may answer at once: the second finds the run going on.
    multitaskStrategy: "reject",
  };
  await startRun(book, threadId, run, identity);
  return {};
}

function mustHaveCheckpoint(book: ThreadBook, threadId: string, checkpointId: string): void {
  if (book.hasCheckpoint(threadId, checkpointId)) return;
  throw new ProtocolError("no_such_checkpoint", `The thread has no checkpoint ${checkpointId}.`);
}

/** Keys of the library's own are not for clients to set, nor may the thread differ from the path's. */
function ownSettings(configurable: Record<string, unknown>): Record<string, unknown> {
  const reserved = ["thread_id", "checkpoint_ns", "checkpoint_map"];
  return Object.fromEntries(
    Object.entries(configurable).filter(([key]) => !key.startsWith("__") && !reserved.includes(key)),
  );
}

function strategyOf(asked: RunStart["multitaskStrategy"]): MultitaskStrategy {
  if (asked === "rollback") {
    throw new ProtocolError(
      "not_supported",
      'This application keeps what a run has done; use "interrupt" instead of "rollback".',
    );
  }
  return asked ?? "enqueue";
}
