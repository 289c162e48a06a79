import type { Dialect } from "./a2a-dialect.ts";
import { listParams, sendParams, taskParams } from "./a2a-message.ts";

/** Version 0.3; the code of this area uses its shapes. */
export const a2aV03: Dialect = {
  version: "0.3",
  methods: {
    "message/send": "send",
    "message/stream": "stream",
    "tasks/get": "get",
    "tasks/cancel": "cancel",
    "tasks/resubscribe": "subscribe",
    "tasks/pushNotificationConfig/set": "push",
    "tasks/pushNotificationConfig/get": "push",
    "tasks/pushNotificationConfig/list": "push",
    "tasks/pushNotificationConfig/delete": "push",
  },
  sendParams,
  taskParams,
  listParams,
  task: (task) => task,
  sent: (task) => task,
  startsWithTask: false,
  tellsPastTasks: true,
  status: ({ taskId, contextId, status, final }) => ({
    kind: "status-update",
    taskId,
    contextId,
    status,
    final,
  }),
  artifact: ({ taskId, contextId, artifact }) => ({
    kind: "artifact-update",
    taskId,
    contextId,
    artifact,
    append: false,
    lastChunk: true,
  }),
  error: (error) => error,
};
