import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId } from "../../platform/ids.ts";
import { KeyedLock } from "../../platform/keyed-lock.ts";
import type { Assistant } from "../assistants/assistant.ts";
import type { AssistantService } from "../assistants/assistant-service.ts";
import type { StreamMode } from "../graphs/graph-call.ts";
import type { RunnableGraphs } from "../graphs/graph-registry.ts";
import type { RpcPermits } from "../json-rpc/rpc-permits.ts";
import { isActive, type Run } from "../runs/run.ts";
import type { CreatedRun } from "../runs/run-create-service.ts";
import type { RunRequest } from "../runs/run-request.ts";
import { runCreateBody, toRunRequest } from "../runs/run-schemas.ts";
import type { RunService } from "../runs/run-service.ts";
import type { StateService } from "../threads/state-service.ts";
import {
  type A2aMessage,
  type ListParams,
  type SendParams,
  type TaskParams,
  toResumeValue,
  toRunInput,
} from "./a2a-message.ts";
import { findTaskRun, listTaskRuns, taskKey, taskMark } from "./a2a-store.ts";
import { type Task, type TaskRun, taskStateOf, toTask } from "./a2a-task.ts";
import { toAgentCard } from "./agent-card.ts";

export type A2aServiceOptions = {
  database: Database;
  graphs: RunnableGraphs;
  assistants: AssistantService;
  permits: RpcPermits;
  runs: Pick<RunService, "create" | "find" | "head" | "cancel" | "waitForEnd">;
  states: Pick<StateService, "history">;
  /** Where clients reach this server: by the headers of a request where these can be believed. */
  publicUrl(headers?: Headers): string;
};

/** Who asks, and which assistant. */
export type A2aCaller = {
  caller: Caller;
  assistant: Assistant;
  /** What a run takes from the request that starts it. */
  origin: Pick<RunRequest, "caller" | "callerConfigurable">;
};

export type StartedTask = { taskId: string; created: CreatedRun };

export type TaskList = { tasks: Task[]; nextPageToken: string; pageSize: number; totalSize: number };

const defaultHistory = 10;

/** Agent to agent: a context is a thread, a task is a run with those that resumed it. */
export class A2aService {
  readonly #options: A2aServiceOptions;
  readonly #answers = new KeyedLock();

  constructor(options: A2aServiceOptions) {
    this.#options = options;
  }

  async assistant(caller: Caller, id: string): Promise<Assistant> {
    const assistant = await this.#options.assistants.get(caller.workspaceId, id);
    await this.#options.permits.readAssistant(caller, assistant.assistant_id);
    return assistant;
  }

  async card(caller: Caller, id: string, headers: Headers) {
    const assistant = await this.assistant(caller, id);
    return toAgentCard(assistant, {
      url: `${this.#options.publicUrl(headers)}/a2a/${assistant.assistant_id}`,
      graphDescription: this.#options.graphs.get(assistant.graph_id).description,
      takesMessages: await this.#takesMessages(assistant.graph_id),
    });
  }

  /** Begins a task, or continues the one that the message names. */
  async start(from: A2aCaller, { message }: SendParams, modes: StreamMode[]): Promise<StartedTask> {
    const { assistant_id, graph_id } = from.assistant;
    if (message.taskId) return this.#resume(from, message.taskId, message, modes);
    const input = toRunInput(message, await this.#takesMessages(graph_id));
    const threadId = message.contextId?.toLowerCase() ?? newId();
    const metadata = { [taskMark]: true };
    const body = { assistant_id, input, metadata, stream_mode: modes, if_not_exists: "create" };
    const created = await this.#create(from, threadId, body);
    return { taskId: created.run.run_id, created };
  }

  async #resume(from: A2aCaller, id: string, message: A2aMessage, modes: StreamMode[]): Promise<StartedTask> {
    // An interrupt is answered once: the second answer finds the task working.
    return this.#answers.run(id.toLowerCase(), async () => {
      const { taskId, run } = await this.#waiting(from, id, message.contextId);
      const created = await this.#create(from, run.thread_id, {
        assistant_id: from.assistant.assistant_id,
        command: { resume: toResumeValue(message) },
        metadata: { [taskMark]: true, [taskKey]: taskId },
        multitask_strategy: "reject",
        stream_mode: modes,
      });
      return { taskId, created };
    });
  }

  /** Resolves when the task is over or waits for input; rejects when the signal fires first. */
  async finish({ created }: StartedTask, signal: AbortSignal): Promise<void> {
    if (await created.result) return;
    await this.#options.runs.waitForEnd(created.run.thread_id, created.run.run_id, signal);
  }

  async task(from: A2aCaller, params: TaskParams): Promise<Task> {
    const found = await this.find(from, params.id, params.contextId);
    return toTask(found, params.historyLength ?? defaultHistory);
  }

  /** Tasks of the assistant that other agents began, those something last happened to first. */
  async list(from: A2aCaller, params: ListParams): Promise<TaskList> {
    const { database, permits } = this.#options;
    const { workspaceId } = from.caller;
    const condition = await permits.threadCondition(from.caller);
    const page = await listTaskRuns(database.sql, {
      workspaceId,
      assistantId: from.assistant.assistant_id,
      threadCondition: condition,
      ...params,
    });
    const tasks: Task[] = [];
    for (const taskId of page.taskIds) {
      const found = await this.find(from, taskId);
      const { artifacts, ...task } = toTask(found, params.historyLength);
      tasks.push(params.includeArtifacts ? { ...task, artifacts: artifacts ?? [] } : task);
    }
    return { tasks, nextPageToken: page.next, pageSize: params.pageSize, totalSize: page.total };
  }

  async cancel(from: A2aCaller, params: TaskParams, signal: AbortSignal): Promise<Task> {
    const found = await this.find(from, params.id, params.contextId);
    await this.#options.permits.onThread(from.caller, "update", found.run.thread_id);
    const run = await this.#options.runs.head(from.caller.workspaceId, found.run.run_id);
    if (!isActive(run.status)) {
      throw new AppError({
        code: "a2a.task_not_cancelable",
        kind: "conflict",
        message: `Task ${found.taskId} is ${taskStateOf(found)} and cannot be canceled.`,
      });
    }
    await this.#options.runs.cancel(run, "interrupt");
    await this.#options.runs.waitForEnd(run.thread_id, run.run_id, signal);
    return this.task(from, params);
  }

  async find(from: A2aCaller, id: string, contextId?: string | null): Promise<TaskRun> {
    const { database, permits, runs } = this.#options;
    const { workspaceId } = from.caller;
    const taskId = id.toLowerCase();
    const ids = await findTaskRun(database.sql, workspaceId, taskId);
    if (!ids) throw taskNotFound(id);
    const run = await runs.find(workspaceId, ids.latest);
    if (run.assistant_id !== from.assistant.assistant_id) throw taskNotFound(id);
    if (contextId && contextId.toLowerCase() !== run.thread_id) throw taskNotFound(id);
    await permits.onThread(from.caller, "read", run.thread_id);
    const { values, interrupts } = await this.#stateAfter(run);
    return { taskId, run, isNewest: ids.newest === run.run_id, values, interrupts };
  }

  /** As the run left it, regardless of what happened on the thread since. */
  async #stateAfter(run: Run): Promise<{ values: unknown; interrupts: readonly unknown[] }> {
    if (isActive(run.status)) return { values: {}, interrupts: [] };
    const [state] = await this.#options.states.history(run.workspace_id, run.thread_id, {
      limit: 1,
      filter: { run_id: run.run_id },
    });
    return state ?? { values: {}, interrupts: [] };
  }

  async #waiting(from: A2aCaller, taskId: string, contextId: string | null | undefined): Promise<TaskRun> {
    const found = await this.find(from, taskId, contextId);
    const state = taskStateOf(found);
    if (state === "input-required") return found;
    throw new AppError({
      code: "a2a.task_takes_no_message",
      kind: "invalid",
      message: `Task ${found.taskId} is ${state} and accepts no message. Leave out taskId to start another task in its context.`,
    });
  }

  #create(from: A2aCaller, threadId: string, body: Record<string, unknown>): Promise<CreatedRun> {
    return this.#options.runs.create(from.caller.workspaceId, threadId, {
      ...toRunRequest(runCreateBody.parse(body), "given"),
      ...from.origin,
    });
  }

  /** A graph whose input schema is unknown is assumed to take messages. */
  async #takesMessages(graphId: string): Promise<boolean> {
    const { input_schema } = await this.#options.assistants.schemasOfGraph(graphId);
    const fields = input_schema?.properties;
    return typeof fields !== "object" || fields === null || "messages" in fields;
  }
}

function taskNotFound(id: string): AppError {
  return new AppError({
    code: "a2a.task_not_found",
    kind: "not_found",
    message: `Task not found: ${id} is not a task of this assistant in this context.`,
  });
}
