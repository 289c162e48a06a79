import { isObject } from "../json-rpc/json-rpc.ts";
import type { Run } from "../runs/run.ts";

export const taskStates = [
  "submitted",
  "working",
  "input-required",
  "completed",
  "canceled",
  "failed",
  "unknown",
] as const;
export type TaskState = (typeof taskStates)[number];

/** Nothing can happen to it any more. */
export function isTerminal(state: TaskState): boolean {
  return state !== "submitted" && state !== "working" && state !== "input-required";
}

export type Part = { kind: "text"; text: string } | { kind: "data"; data: Record<string, unknown> };
export type Message = {
  kind: "message";
  role: "user" | "agent";
  messageId: string;
  taskId: string;
  contextId: string;
  parts: Part[];
};
export type TaskStatus = { state: TaskState; timestamp: string; message?: Message };
export type Artifact = { artifactId: string; name: string; parts: Part[] };
export type Task = {
  kind: "task";
  id: string;
  contextId: string;
  status: TaskStatus;
  artifacts?: Artifact[];
  history?: Message[];
};

/** A run that belongs to a task, and its last checkpoint once it is over. */
export type TaskRun = {
  taskId: string;
  run: Pick<Run, "run_id" | "thread_id" | "status" | "started_at" | "updated_at" | "cancel_action" | "error">;
  /** Nothing ran on the thread after it. */
  isNewest: boolean;
  values: unknown;
  interrupts: readonly unknown[];
};

export function taskStateOf({ run, isNewest, interrupts }: TaskRun): TaskState {
  switch (run.status) {
    case "pending":
      return "submitted";
    case "running":
      return "working";
    case "success":
      return "completed";
    case "error":
    case "timeout":
      return "failed";
    case "interrupted":
      if (run.cancel_action !== null || run.started_at === null) return "canceled";
      // If the thread has a newer run, this task no longer waits for input, and how it ended is not known.
      return isNewest && interrupts.length > 0 ? "input-required" : "unknown";
  }
}

export function toTask(taskRun: TaskRun, historyLength: number): Task {
  const { taskId, run, values } = taskRun;
  const status = toStatus(taskRun);
  const artifact = toArtifact(taskRun);
  const history = toHistory(taskRun, values, historyLength);
  return {
    kind: "task",
    id: taskId,
    contextId: run.thread_id,
    status,
    ...(artifact ? { artifacts: [artifact] } : {}),
    ...(history.length > 0 ? { history } : {}),
  };
}

export function toStatus(taskRun: TaskRun): TaskStatus {
  const { run } = taskRun;
  const state = taskStateOf(taskRun);
  const base = { state, timestamp: run.updated_at.toISOString() };
  if (state === "failed") {
    const text = run.error ? `${run.error.error}: ${run.error.message}` : "The run failed.";
    return { ...base, message: agentMessage(taskRun, run.run_id, [{ kind: "text", text }]) };
  }
  if (state === "input-required") {
    return { ...base, message: agentMessage(taskRun, run.run_id, questionParts(taskRun.interrupts)) };
  }
  return base;
}

/** The question as text for people, and as data for programs. */
function questionParts(interrupts: readonly unknown[]): Part[] {
  const questions = interrupts.map((each) => {
    const value = isObject(each) ? each.value : each;
    return typeof value === "string" ? value : JSON.stringify(value);
  });
  return [
    { kind: "text", text: questions.join("\n") },
    { kind: "data", data: { interrupts } },
  ];
}

/** What a completed task made: the agent's last message, or its values when it has no messages. */
export function toArtifact(taskRun: TaskRun): Artifact | undefined {
  if (taskStateOf(taskRun) !== "completed") return undefined;
  const { run, values } = taskRun;
  const text = messagesOf(values)
    .filter((message) => message.type === "ai")
    .map((message) => textOfContent(message.content))
    .findLast((each) => each !== "");
  const parts: Part[] =
    text === undefined
      ? [{ kind: "data", data: isObject(values) ? values : { result: values } }]
      : [{ kind: "text", text }];
  return { artifactId: run.run_id, name: "response", parts };
}

function toHistory(taskRun: TaskRun, values: unknown, length: number): Message[] {
  if (length === 0) return [];
  const spoken = messagesOf(values).flatMap((message): Message[] => {
    const text = textOfContent(message.content);
    if (text === "" || (message.type !== "human" && message.type !== "ai")) return [];
    const id = typeof message.id === "string" ? message.id : taskRun.run.run_id;
    const written = agentMessage(taskRun, id, [{ kind: "text", text }]);
    return [message.type === "human" ? { ...written, role: "user" } : written];
  });
  return spoken.slice(-length);
}

export function agentMessage(
  { taskId, run }: Pick<TaskRun, "taskId" | "run">,
  messageId: string,
  parts: Part[],
): Message {
  return { kind: "message", role: "agent", messageId, taskId, contextId: run.thread_id, parts };
}

type ChatMessage = { type?: unknown; id?: unknown; content?: unknown };

function messagesOf(values: unknown): ChatMessage[] {
  if (!isObject(values) || !Array.isArray(values.messages)) return [];
  return values.messages.filter(isObject);
}

/** Text of a message's content, be it a string or a list of blocks. */
export function textOfContent(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((block) =>
      isObject(block) && block.type === "text" && typeof block.text === "string" ? block.text : "",
    )
    .join("");
}
