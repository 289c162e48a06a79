import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { isObject, type RpcError } from "../json-rpc/json-rpc.ts";
import type { Dialect } from "./a2a-dialect.ts";
import { type A2aPart, contextId, taskId } from "./a2a-message.ts";
import type { Artifact, Message, Part, Task, TaskState, TaskStatus } from "./a2a-task.ts";

/** Version 1.0: the JSON of protocol buffers, with enums by name and one field set of several. */

/** Protocol buffers have no null: what is not set may come as an empty text. */
const unset = (schema: z.ZodType<string>) =>
  z.preprocess((given) => (given === "" ? null : given), schema.nullish());

const contentFields = ["text", "raw", "url", "data"] as const;

const part = z
  .looseObject({
    text: z.string().optional(),
    raw: z.string().optional(),
    url: z.string().optional(),
    data: z.unknown().optional(),
    mediaType: z.string().nullish(),
    filename: z.string().nullish(),
  })
  .refine(
    (given) => contentFields.filter((name) => given[name] !== undefined).length === 1,
    `needs exactly one of ${contentFields.join(", ")}`,
  )
  .transform(({ text, raw, url, data, mediaType, filename }): A2aPart => {
    if (text !== undefined) return { kind: "text", text };
    if (data !== undefined) return { kind: "data", data };
    return { kind: "file", file: { bytes: raw, uri: url, mimeType: mediaType, name: filename } };
  });

const message = z
  .looseObject({
    role: z.enum(["ROLE_USER", "ROLE_AGENT"]),
    messageId: z.string().nullish(),
    contextId: unset(contextId),
    taskId: unset(taskId),
    parts: z.array(part).min(1),
  })
  .transform(({ role, ...rest }) => ({
    ...rest,
    role: role === "ROLE_USER" ? ("user" as const) : ("agent" as const),
  }));

const historyLength = z.int().min(0).nullish();

const send = z
  .looseObject({
    message,
    configuration: z
      .looseObject({
        returnImmediately: z.boolean().nullish(),
        historyLength,
        taskPushNotificationConfig: z.unknown().optional(),
      })
      .nullish(),
  })
  .transform(({ message: given, configuration }) => ({
    message: given,
    configuration: {
      blocking: configuration?.returnImmediately !== true,
      historyLength: configuration?.historyLength,
      pushNotificationConfig: configuration?.taskPushNotificationConfig,
    },
  }));

const task = z.looseObject({ id: taskId, historyLength });

const stateNames: Record<TaskState, string> = {
  submitted: "TASK_STATE_SUBMITTED",
  working: "TASK_STATE_WORKING",
  "input-required": "TASK_STATE_INPUT_REQUIRED",
  completed: "TASK_STATE_COMPLETED",
  canceled: "TASK_STATE_CANCELED",
  failed: "TASK_STATE_FAILED",
  // 1.0 has no state for a question that was not answered before its context went on, so it counts as canceled.
  unknown: "TASK_STATE_CANCELED",
};
const states = new Map(
  Object.entries(stateNames).flatMap(([state, name]) =>
    state === "unknown" ? [] : [[name, state as TaskState]],
  ),
);

const list = z
  .looseObject({
    contextId: unset(contextId),
    status: z.string().nullish(),
    pageSize: z.int().min(1).max(100).nullish(),
    pageToken: z.string().nullish(),
    historyLength,
    statusTimestampAfter: z.iso.datetime({ offset: true }).nullish(),
    includeArtifacts: z.boolean().nullish(),
  })
  .transform((given, context) => {
    const { status } = given;
    const state = status && status !== "TASK_STATE_UNSPECIFIED" ? states.get(status) : null;
    if (state === undefined) {
      context.addIssue({ code: "custom", path: ["status"], message: "is not a task state" });
      return z.NEVER;
    }
    return {
      contextId: given.contextId ?? null,
      state,
      pageSize: given.pageSize ?? 50,
      pageToken: given.pageToken || null,
      historyLength: given.historyLength ?? 0,
      updatedAfter: given.statusTimestampAfter ?? null,
      includeArtifacts: given.includeArtifacts === true,
    };
  });

export const a2aV1: Dialect = {
  version: "1.0",
  methods: {
    SendMessage: "send",
    SendStreamingMessage: "stream",
    GetTask: "get",
    ListTasks: "list",
    CancelTask: "cancel",
    SubscribeToTask: "subscribe",
    CreateTaskPushNotificationConfig: "push",
    GetTaskPushNotificationConfig: "push",
    ListTaskPushNotificationConfigs: "push",
    DeleteTaskPushNotificationConfig: "push",
    GetExtendedAgentCard: "extendedCard",
  },
  sendParams: send,
  taskParams: task,
  listParams: list,
  task: toTask,
  sent: (made) => ({ task: toTask(made) }),
  startsWithTask: true,
  tellsPastTasks: false,
  // Its end shows in the state and in the end of the stream.
  status: ({ final: _, status, ...ids }) => ({ statusUpdate: { ...ids, status: toStatus(status) } }),
  artifact: ({ artifact, ...ids }) => ({
    artifactUpdate: { ...ids, artifact: toArtifact(artifact), append: false, lastChunk: true },
  }),
  error: withReason,
};

function toTask({ kind: _, status, artifacts, history, ...ids }: Task) {
  return {
    ...ids,
    status: toStatus(status),
    ...(artifacts ? { artifacts: artifacts.map(toArtifact) } : {}),
    ...(history ? { history: history.map(toMessage) } : {}),
  };
}

function toStatus({ state, message: given, timestamp }: TaskStatus) {
  return { state: stateNames[state], ...(given ? { message: toMessage(given) } : {}), timestamp };
}

function toMessage({ kind: _, role, parts, ...rest }: Message) {
  return { ...rest, role: role === "user" ? "ROLE_USER" : "ROLE_AGENT", parts: parts.map(toPart) };
}

function toArtifact({ parts, ...rest }: Artifact) {
  return { ...rest, parts: parts.map(toPart) };
}

function toPart({ kind: _, ...content }: Part) {
  return content;
}

const reasons: Readonly<Record<string, { code?: number; reason: string }>> = {
  "a2a.task_not_found": { reason: "TASK_NOT_FOUND" },
  "a2a.task_not_cancelable": { reason: "TASK_NOT_CANCELABLE" },
  "a2a.push_not_supported": { reason: "PUSH_NOTIFICATION_NOT_SUPPORTED" },
  "a2a.unsupported": { reason: "UNSUPPORTED_OPERATION" },
  "a2a.version_not_supported": { reason: "VERSION_NOT_SUPPORTED" },
  "a2a.task_takes_no_message": { code: -32004, reason: "UNSUPPORTED_OPERATION" },
};

/** Errors of the protocol's own are named once more, for programs. */
function withReason(error: RpcError, cause: unknown): RpcError {
  const known = cause instanceof AppError ? reasons[cause.code] : undefined;
  if (!known) return error;
  const info = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: known.reason,
    domain: "a2a-protocol.org",
  };
  return {
    ...error,
    code: known.code ?? error.code,
    data: isObject(error.data) ? [info, error.data] : [info],
  };
}
