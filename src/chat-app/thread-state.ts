import type { StateSnapshot } from "@langchain/langgraph";
import { z } from "zod";
import { toJson } from "./protocol-event.ts";

const json = z.record(z.string(), z.unknown());

export const checkpointShape = z
  .object({
    thread_id: z.string(),
    checkpoint_ns: z.string(),
    checkpoint_id: z.string(),
    checkpoint_map: json.nullable(),
  })
  .meta({ id: "ChatCheckpoint" });

/** The state of a thread at one checkpoint, in the shape clients of the agent server know. */
export const threadStateShape = z
  .object({
    values: json,
    next: z.array(z.string()).describe("The next nodes; empty if the last run is complete."),
    tasks: z.array(json),
    metadata: json,
    created_at: z.string().nullable(),
    checkpoint: checkpointShape.nullable(),
    parent_checkpoint: checkpointShape.nullable(),
    interrupts: z.array(z.unknown()),
  })
  .meta({ id: "ChatThreadState" });

export type ThreadState = z.infer<typeof threadStateShape>;

export const threadStatuses = ["idle", "busy", "interrupted", "stopped"] as const;

/** One line of the sidebar. */
export const threadSummaryShape = z
  .object({
    thread_id: z.string(),
    title: z.string(),
    status: z
      .enum(threadStatuses)
      .describe("interrupted: waits for an answer; stopped: the last run ended before it was complete."),
    assistant_id: z.string(),
    active_run_id: z.string().nullable(),
    checkpoint_id: z.string().describe("The latest checkpoint. If it changes, the thread has moved on."),
    updated_at: z.string().nullable(),
  })
  .meta({ id: "ChatThreadSummary" });

export type ThreadSummary = z.infer<typeof threadSummaryShape>;

export function toThreadState(snapshot: StateSnapshot): ThreadState {
  const tasks = snapshot.tasks.map((task) => {
    const config = task.state && "configurable" in task.state ? task.state : undefined;
    return {
      id: task.id,
      name: task.name,
      path: task.path ?? null,
      error: toJson(task.error ?? null),
      interrupts: toJson(task.interrupts ?? []) as unknown[],
      checkpoint: config ? checkpointOf(config) : null,
      state: null,
      result: toJson((task as { result?: unknown }).result ?? null),
    };
  });
  return {
    values: toJson(snapshot.values ?? {}) as Record<string, unknown>,
    next: [...snapshot.next],
    tasks,
    metadata: toJson(snapshot.metadata ?? {}) as Record<string, unknown>,
    created_at: snapshot.createdAt ?? null,
    checkpoint: checkpointOf(snapshot.config),
    parent_checkpoint: snapshot.parentConfig ? checkpointOf(snapshot.parentConfig) : null,
    interrupts: tasks.flatMap((task) => task.interrupts),
  };
}

function checkpointOf({ configurable = {} }: { configurable?: Record<string, unknown> }) {
  const { thread_id, checkpoint_ns = "", checkpoint_id = "", checkpoint_map = null } = configurable;
  return { thread_id, checkpoint_ns, checkpoint_id, checkpoint_map } as z.infer<typeof checkpointShape>;
}

export function summarize(
  state: ThreadState,
  facts: { threadId: string; assistantId: string; activeRunId: string | null },
): ThreadSummary {
  return {
    thread_id: facts.threadId,
    title: titleOf(state.values.messages),
    status: statusOf(state, facts.activeRunId),
    assistant_id: facts.assistantId,
    active_run_id: facts.activeRunId,
    checkpoint_id: state.checkpoint?.checkpoint_id ?? "",
    updated_at: state.created_at,
  };
}

function statusOf(state: ThreadState, activeRunId: string | null): ThreadSummary["status"] {
  if (activeRunId !== null) return "busy";
  if (state.interrupts.length > 0) return "interrupted";
  return state.next.length > 0 && hasMessages(state.values.messages) ? "stopped" : "idle";
}

type Message = { type?: unknown; content?: unknown };

function hasMessages(messages: unknown): messages is Message[] {
  return Array.isArray(messages) && messages.length > 0;
}

const titleLength = 80;

function titleOf(messages: unknown): string {
  const first = hasMessages(messages) ? messages.find((message) => message.type === "human") : undefined;
  const text = textOf(first?.content).replace(/\s+/g, " ").trim();
  if (text === "") return "New conversation";
  return text.length > titleLength ? `${text.slice(0, titleLength - 1)}…` : text;
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((block: { text?: unknown }) => (typeof block.text === "string" ? block.text : ""))
    .join(" ");
}
