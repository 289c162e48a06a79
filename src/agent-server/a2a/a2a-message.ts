import { z } from "zod";
import { invalidParams } from "../json-rpc/json-rpc.ts";

const record = z.record(z.string(), z.unknown());

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
  z.looseObject({ kind: z.literal("data"), data: record }),
  filePart,
]);
export type A2aPart = z.output<typeof part>;

export const a2aMessage = z.looseObject({
  kind: z.literal("message").nullish(),
  role: z.enum(["user", "agent"]),
  messageId: z.string().nullish(),
  contextId: z.uuid("must be a uuid: it names a thread").nullish(),
  taskId: z.uuid("must be a uuid: it names a run").nullish(),
  parts: z.array(part).min(1),
});
export type A2aMessage = z.output<typeof a2aMessage>;

const historyLength = z.int().min(0).max(10);

export const sendParams = z.looseObject({
  message: a2aMessage,
  configuration: z
    .looseObject({ blocking: z.boolean().nullish(), historyLength: historyLength.nullish() })
    .nullish(),
});
export type SendParams = z.output<typeof sendParams>;

export const taskParams = z.looseObject({
  id: z.uuid(),
  contextId: z.uuid().nullish(),
  historyLength: historyLength.nullish(),
});
export type TaskParams = z.output<typeof taskParams>;

/** The input of a run: data parts are its fields, text and files a message in `messages`. */
export function toRunInput(message: A2aMessage, takesMessages: boolean): Record<string, unknown> {
  const data = dataOf(message.parts);
  const content = contentOf(message.parts);
  if (content === undefined) return data;
  if (!takesMessages) {
    throw invalidParams(
      "This assistant's input has no `messages`, so it takes no text and no files. Send its fields as one data part.",
    );
  }
  const before = Array.isArray(data.messages) ? data.messages : [];
  const type = message.role === "user" ? "human" : "ai";
  return { ...data, messages: [...before, { type, content }] };
}

/** What an interrupted run goes on with: the data when there is some, otherwise the text. */
export function toResumeValue(message: A2aMessage): unknown {
  const text = textOf(message.parts);
  if (!message.parts.some((each) => each.kind === "data")) return text;
  const data = dataOf(message.parts);
  return text === "" ? data : { text, ...data };
}

function textOf(parts: readonly A2aPart[]): string {
  return parts.flatMap((each) => (each.kind === "text" ? [each.text] : [])).join("\n");
}

function dataOf(parts: readonly A2aPart[]): Record<string, unknown> {
  return Object.assign({}, ...parts.map((each) => (each.kind === "data" ? each.data : {})));
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
