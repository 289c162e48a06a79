import type { AgentStatus, LifecycleCause, LifecycleEvent } from "@langchain/protocol";
import { nameOf } from "../../../platform/streaming-protocol/event-name.ts";

type Observed = { method: string; namespace: readonly string[]; data: unknown };
type Branch = { namespace: string[]; status: AgentStatus };
type Ending = { branch: Branch; status: AgentStatus };

/**
 * The lifecycle of the namespaces below the root: each is `started` before the first event in it and ends with the
 * task it belongs to. One per run.
 */
export class NamespaceLifecycle {
  readonly #now: () => number;
  readonly #branches = new Map<string, Branch>();
  /** Endings wait for the next event, so that they come after every event of the task. */
  readonly #endings: Ending[] = [];
  readonly #agentNames = new Map<string, string>();
  readonly #toolCalls = new Map<string, string>();
  readonly #causes = new Map<string, LifecycleCause>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The events that go before this one. */
  observe(event: Observed): LifecycleEvent[] {
    const task = event.method === "tasks" ? asTask(event.data) : undefined;
    if (task && !isOver(task)) this.#learn(event.namespace, task);
    const events = [...this.#flush(), ...this.#start(event.namespace)];
    if (task && isOver(task)) this.#endTask(event.namespace, task);
    return events;
  }

  /** Starts a namespace that another channel mentions first, with its cause. */
  announce(namespace: readonly string[], cause: LifecycleCause | undefined): LifecycleEvent[] {
    if (cause) this.#causes.set(namespace.join("|"), cause);
    return [...this.#flush(), ...this.#start(namespace)];
  }

  /** Ends what is still open, innermost first. */
  finish(status: AgentStatus): LifecycleEvent[] {
    const events = this.#flush();
    const open = [...this.#branches.values()].filter((branch) => branch.status === "started");
    open.sort((left, right) => right.namespace.length - left.namespace.length);
    return [...events, ...open.map((branch) => this.#end({ branch, status }))];
  }

  #learn(namespace: readonly string[], task: Task): void {
    const agentName = task.metadata?.lc_agent_name;
    const key = namespace.join("|");
    if (typeof agentName === "string" && agentName !== "" && !this.#agentNames.has(key)) {
      this.#agentNames.set(key, agentName);
    }
    const callId = toolCallOf(task.input);
    if (callId !== undefined) this.#toolCalls.set(task.id, callId);
  }

  #start(namespace: readonly string[]): LifecycleEvent[] {
    const events: LifecycleEvent[] = [];
    for (let length = 1; length <= namespace.length; length++) {
      const prefix = namespace.slice(0, length);
      const key = prefix.join("|");
      if (this.#branches.has(key)) continue;
      this.#branches.set(key, { namespace: prefix, status: "started" });
      const cause = this.#causeOf(prefix);
      events.push(this.#event(prefix, "started", cause));
    }
    return events;
  }

  /** The task id is part of the namespace it opens, and the task was given the tool call that caused it. */
  #causeOf(namespace: readonly string[]): LifecycleCause | undefined {
    const known = this.#causes.get(namespace.join("|"));
    if (known) return known;
    const segment = namespace.at(-1)!;
    const callId = this.#toolCalls.get(segment.slice(segment.indexOf(":") + 1));
    return callId === undefined ? undefined : { type: "toolCall", tool_call_id: callId };
  }

  #endTask(namespace: readonly string[], task: Task): void {
    const branch = this.#branches.get([...namespace, `${task.name}:${task.id}`].join("|"));
    if (branch?.status !== "started") return;
    const failed = task.error !== undefined && task.error !== null;
    const interrupted = (task.interrupts?.length ?? 0) > 0;
    this.#endings.push({ branch, status: interrupted ? "interrupted" : failed ? "failed" : "completed" });
  }

  #flush(): LifecycleEvent[] {
    return this.#endings.splice(0).map((ending) => this.#end(ending));
  }

  #end({ branch, status }: Ending): LifecycleEvent {
    branch.status = status;
    return this.#event(branch.namespace, status);
  }

  #event(namespace: readonly string[], status: AgentStatus, cause?: LifecycleCause): LifecycleEvent {
    const graphName = this.#agentNames.get(namespace.join("|")) ?? nameOf(namespace.at(-1)!);
    return {
      method: "lifecycle",
      params: {
        namespace: [...namespace],
        timestamp: this.#now(),
        data: { event: status, graph_name: graphName, ...(cause ? { cause } : {}) },
      },
    };
  }
}

type Task = {
  id: string;
  name: string;
  input?: unknown;
  result?: unknown;
  error?: unknown;
  interrupts?: unknown[];
  metadata?: Record<string, unknown>;
};

function asTask(data: unknown): Task | undefined {
  if (data === null || typeof data !== "object") return undefined;
  const task = data as Partial<Task>;
  return typeof task.id === "string" && typeof task.name === "string" ? (task as Task) : undefined;
}

function isOver(task: Task): boolean {
  return "result" in task || "error" in task;
}

/** Tool nodes get one call, or a list of them. */
function toolCallOf(input: unknown): string | undefined {
  if (input === null || typeof input !== "object") return undefined;
  const call = Array.isArray(input) ? input.find(isToolCall) : (input as { tool_call?: unknown }).tool_call;
  return isToolCall(call) ? call.id : undefined;
}

/** Messages have an id too, but no arguments. */
function isToolCall(value: unknown): value is { id: string } {
  if (value === null || typeof value !== "object" || !("args" in value)) return false;
  return typeof (value as { id?: unknown }).id === "string";
}
