import type { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import type { RpcError } from "../json-rpc/json-rpc.ts";
import type { listParams, sendParams, taskParams } from "./a2a-message.ts";
import type { Artifact, Task, TaskStatus } from "./a2a-task.ts";

/** The protocol's operations, independent of what each version of the protocol calls them. */
export type Operation = "send" | "stream" | "get" | "list" | "cancel" | "subscribe" | "push" | "extendedCard";

/** One version of the protocol on the wire: its names, how requests are read and how answers are written. */
export type Dialect = {
  version: string;
  methods: Readonly<Record<string, Operation>>;
  sendParams: z.ZodType<z.output<typeof sendParams>>;
  taskParams: z.ZodType<z.output<typeof taskParams>>;
  listParams: z.ZodType<z.output<typeof listParams>>;
  task(task: Task): unknown;
  /** The answer to a message. */
  sent(task: Task): unknown;
  /** A stream begins with the task itself. */
  startsWithTask: boolean;
  /** Whether one may subscribe to a task that is over. */
  tellsPastTasks: boolean;
  status(update: { taskId: string; contextId: string; status: TaskStatus; final: boolean }): unknown;
  artifact(update: { taskId: string; contextId: string; artifact: Artifact }): unknown;
  error(error: RpcError, cause: unknown): RpcError;
};

export const versionHeader = "A2A-Version";

/**
 * Without the header the version is 0.3, as the protocol says. The method names of the versions differ, so a 1.0 client
 * that forgot the header is still understood.
 */
export function chooseDialect(
  dialects: readonly [Dialect, ...Dialect[]],
  version: string | null,
  method: string,
): Dialect {
  if (!version?.trim()) return dialects.find((each) => method in each.methods) ?? dialects[0];
  const asked = version.trim().split(".").slice(0, 2).join(".");
  const found = dialects.find((each) => each.version === asked);
  if (found) return found;
  const known = dialects.map((each) => each.version).join(" and ");
  throw new AppError({
    code: "a2a.version_not_supported",
    kind: "invalid",
    message: `${versionHeader} ${version.slice(0, 20)} is not supported; this agent supports ${known}.`,
  });
}
