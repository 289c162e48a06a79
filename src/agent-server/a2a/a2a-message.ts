import { z } from "zod";
import { invalidParams, isObject } from "../json-rpc/json-rpc.ts";
import { taskStates } from "./a2a-task.ts";

const filePart = z.looseObject({
  kind: z.literal("file"),
  file: z
    .looseObject({
      name: z.string().nullish(),
      mimeType: z.string().nullish(),
      bytes: z.string().nullish().describe("Base64."),
      uri: z.string().nullish(),
    })
    .refine((file) => Boolean(file.bytes) !== Boolean(file.uri), "needs either `bytes` or `uri`"),
});

const part = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("text"), text: z.string() }),
  z.looseObject({ kind: z.literal("data"), data: z.unknown() }),
  filePart,
]);
export type A2aPart = z.output<typeof part>;

export const contextId = z.uuid("must be a uuid: it names a thread");
export const taskId = z.uuid("must be a uuid: it names a run");

export const a2aMessage = z.looseObject({
  kind: z.literal("message").nullish(),
  role: z.enum(["user", "agent"]),
  messageId: z.string().nullish(),
  contextId: contextId.nullish(),
  taskId: taskId.nullish(),
  parts: z.array(part).min(1),
});
export type A2aMessage = z.output<typeof a2aMessage>;

const historyLength = z.int().min(0).max(10);

export const sendParams = z.looseObject({
  message: a2aMessage,
  configuration: z
    .looseObject({
      blocking: z.boolean().nullish(),
      historyLength: historyLength.nullish(),
      pushNotificationConfig: z.unknown().optional(),
    })
    .nullish(),
});
export type SendParams = z.output<typeof sendParams>;

export const taskParams = z.looseObject({
  id: z.uuid(),
  contextId: z.uuid().nullish(),
  historyLength: historyLength.nullish(),
});
export type TaskParams = z.output<typeof taskParams>;

export const listParams = z.object({
  contextId: contextId.nullable(),
  state: z.enum(taskStates).nullable(),
  pageSize: z.int(),
  pageToken: z.string().nullable(),
  historyLength: z.int().min(0),
  updatedAfter: z.string().nullable(),
  includeArtifacts: z.boolean(),
});
export type ListParams = z.output<typeof listParams>;

/** The input of a run: data parts are its fields, text and files a message in `messages`. */
export function toRunInput(message: A2aMessage, takesMessages: boolean): Record<string, unknown> {
  const data = dataOf(message.parts);
  const content = contentOf(message.parts);
  if (content === undefined) return data;
  if (!takesMessages) {
    throw invalidParams(
      "This assistant's input has no `messages`, so it accepts no text and no files. Send its fields as one data part.",
    );
  }
  const before = Array.isArray(data.messages) ? data.messages : [];
  const type = message.role === "user" ? "human" : "ai";
  return { ...data, messages: [...before, { type, content }] };
}

/** What an interrupted run continues with: the data when there is some, otherwise the text. */
export function toResumeValue(message: A2aMessage): unknown {
  const text = textOf(message.parts);
  const given = message.parts.flatMap((each) => (each.kind === "data" ? [each.data] : []));
  if (given.length === 0) return text;
  if (given.length === 1 && text === "") return given[0];
  const data = dataOf(message.parts);
  return text === "" ? data : { text, ...data };
}

function textOf(parts: readonly A2aPart[]): string {
  return parts.flatMap((each) => (each.kind === "text" ? [each.text] : [])).join("\n");
}

function dataOf(parts: readonly A2aPart[]): Record<string, unknown> {
  const given = parts.flatMap((each) => (each.kind === "data" ? [each.data] : []));
  if (!given.every(isObject)) throw invalidParams("Invalid params: a data part must be an object.");
  return Object.assign({}, ...given);
}

/** Plain text where that is all there is; undefined when there is neither text nor file. */
function contentOf(parts: readonly A2aPart[]): string | Record<string, unknown>[] | undefined {
  const spoken = parts.filter((each) => each.kind !== "data");
  if (spoken.length === 0) return undefined;
  if (spoken.every((each) => each.kind === "text")) return textOf(spoken);
  return spoken.map((each) => (each.kind === "text" ? { type: "text", text: each.text } : fileBlock(each)));
}

const mediaTypes = new Set(["image", "audio", "video"]);

function fileBlock({ file }: z.output<typeof filePart>): Record<string, unknown> {
  const family = file.mimeType?.split("/", 1)[0] ?? "";
  return {
    type: mediaTypes.has(family) ? family : "file",
    ...(file.mimeType ? { mimeType: file.mimeType } : {}),
    ...(file.bytes ? { data: file.bytes } : { url: file.uri }),
    ...(file.name ? { metadata: { filename: file.name } } : {}),
  };
}
