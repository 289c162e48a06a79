import type {
  AgentStatus,
  Checkpoint,
  CheckpointSource,
  ContentBlockDelta,
  CustomData,
  EventData,
  FinalizedContentBlock,
  InputRequestedData,
  LifecycleCause,
  LifecycleData,
  MessageRole,
  ToolsData,
  UpdatesData,
} from "@langchain/protocol";
import { z } from "zod";

/** What a schema takes must be what the protocol's own types allow. */
type Fits<Schema extends z.ZodType, Wire> = z.output<Schema> extends Wire ? Schema : never;
const checked =
  <Wire>() =>
  <Schema extends z.ZodType>(schema: Fits<Schema, Wire>) =>
    schema as Schema;

const statuses = [
  "started",
  "running",
  "completed",
  "failed",
  "interrupted",
] as const satisfies AgentStatus[];
const sources = ["input", "loop", "update", "fork"] as const satisfies CheckpointSource[];
const roles = ["ai", "human", "system"] as const satisfies MessageRole[];

const cause = checked<LifecycleCause>()(
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("toolCall"), tool_call_id: z.string().min(1) }),
    z.strictObject({ type: z.literal("send"), from_node: z.string() }),
    z.strictObject({ type: z.literal("edge"), from_node: z.string() }),
  ]),
);

const lifecycle = z.strictObject({
  event: z.enum(statuses),
  graph_name: z.string().min(1),
  cause: cause.optional(),
  error: z.string().optional(),
});

const args = z.record(z.string(), z.unknown());
const finalBlock = checked<FinalizedContentBlock>()(
  z.discriminatedUnion("type", [
    z.looseObject({ type: z.literal("text"), text: z.string() }),
    z.looseObject({ type: z.literal("reasoning"), reasoning: z.string() }),
    z.looseObject({ type: z.literal("tool_call"), id: z.string().nullable(), name: z.string(), args }),
    z.looseObject({
      type: z.literal("invalid_tool_call"),
      id: z.string().nullable(),
      name: z.string().nullable(),
      args: z.string().nullable(),
      error: z.string().nullable(),
    }),
    z.looseObject({ type: z.literal("image") }),
    z.looseObject({ type: z.literal("file") }),
  ]),
);
const startBlock = z.discriminatedUnion("type", [
  ...finalBlock.options,
  z.looseObject({
    type: z.literal("tool_call_chunk"),
    id: z.string().nullable(),
    name: z.string().nullable(),
    args: z.string().nullable(),
  }),
]);
const delta = checked<ContentBlockDelta>()(
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("text-delta"), text: z.string().min(1) }),
    z.strictObject({ type: z.literal("reasoning-delta"), reasoning: z.string().min(1) }),
    z.strictObject({ type: z.literal("data-delta"), data: z.string() }),
    z.strictObject({ type: z.literal("block-delta"), fields: z.looseObject({ type: z.string() }) }),
  ]),
);
const message = z.discriminatedUnion("event", [
  z.looseObject({ event: z.literal("message-start"), role: z.enum(roles), id: z.string().min(1) }),
  z.looseObject({ event: z.literal("content-block-start"), index: z.int().min(0), content: startBlock }),
  z.looseObject({ event: z.literal("content-block-delta"), index: z.int().min(0), delta }),
  z.looseObject({ event: z.literal("content-block-finish"), index: z.int().min(0), content: finalBlock }),
  z.looseObject({
    event: z.literal("message-finish"),
    usage: z.looseObject({ total_tokens: z.int() }).optional(),
  }),
  z.looseObject({ event: z.literal("error"), message: z.string() }),
]);

const callId = z.string().min(1);
const tools = checked<ToolsData>()(
  z.discriminatedUnion("event", [
    z.strictObject({
      event: z.literal("tool-started"),
      tool_call_id: callId,
      tool_name: z.string().min(1),
      input: z.unknown(),
    }),
    z.strictObject({ event: z.literal("tool-output-delta"), tool_call_id: callId, delta: z.string() }),
    z.strictObject({ event: z.literal("tool-finished"), tool_call_id: callId, output: z.unknown() }),
    z.strictObject({ event: z.literal("tool-error"), tool_call_id: callId, message: z.string().min(1) }),
  ]),
);

const checkpoint = checked<Checkpoint>()(
  z.strictObject({
    id: z.guid(),
    parent_id: z.guid().optional(),
    step: z.int().min(-1),
    source: z.enum(sources),
  }),
);
const inputRequested = checked<InputRequestedData>()(
  z.strictObject({
    interrupt_id: z.string().regex(/^[0-9a-f]{32}$/),
    payload: z.unknown(),
    value: z.unknown(),
  }),
);
const updates = checked<UpdatesData>()(
  z.strictObject({ node: z.string().min(1), values: z.record(z.string(), z.unknown()) }),
);
const custom = checked<CustomData>()(z.looseObject({ name: z.string().optional(), payload: z.unknown() }));

const wireMessage = z.looseObject({
  type: z.enum(["human", "ai", "system", "tool"]),
  content: z.union([z.string(), z.array(z.unknown())]),
});
/** Never empty, never with the marker of an interrupt, and messages are flat. */
const values = z
  .looseObject({ __interrupt__: z.undefined().optional(), messages: z.array(wireMessage).optional() })
  .refine((state) => Object.keys(state).length > 0, "an empty state");
const tasks = z.looseObject({ id: z.string(), name: z.string() });

function event<M extends EventData["method"], S extends z.ZodType>(method: M, data: S) {
  return z.strictObject({
    type: z.literal("event"),
    event_id: z.string().regex(/^[1-9]\d*$/),
    seq: z.int().min(1),
    method: z.literal(method),
    params: z.strictObject({
      namespace: z.array(z.string().min(1)),
      timestamp: z.int().positive(),
      node: z.string().optional(),
      data,
    }),
  });
}

export const protocolEvent = z
  .discriminatedUnion("method", [
    event("lifecycle", lifecycle),
    event("messages", message),
    event("tools", tools),
    event("input.requested", inputRequested),
    event("values", values),
    event("updates", updates),
    event("checkpoints", checkpoint),
    event("custom", custom),
    event("tasks", tasks),
  ])
  .refine((parsed) => parsed.event_id === String(parsed.seq), "event_id is not the number");
export type WireEvent = z.output<typeof protocolEvent>;

// Every method of the protocol has a schema, and a lifecycle is one by the protocol's types.
true satisfies EventData["method"] extends WireEvent["method"] ? true : false;
true satisfies Omit<z.output<typeof lifecycle>, "cause" | "error"> extends LifecycleData ? true : false;

export const allChannels = [
  "values",
  "updates",
  "messages",
  "tools",
  "lifecycle",
  "input",
  "checkpoints",
  "tasks",
  "custom",
];

export const terminals: readonly AgentStatus[] = ["completed", "failed", "interrupted"];

export function isTerminal(candidate: WireEvent): boolean {
  return (
    candidate.method === "lifecycle" &&
    candidate.params.namespace.length === 0 &&
    terminals.includes(candidate.params.data.event)
  );
}

/** What must hold of any list of events a client gets: rising numbers, whole messages, no blocks in each other. */
export function checkOrder(events: readonly WireEvent[]): void {
  let last = 0;
  const open = new Map<string, { block: number | null }>();
  for (const { seq, method, params } of events) {
    if (seq <= last) throw new Error(`event ${seq} came after ${last}`);
    last = seq;
    if (method !== "messages") continue;
    const data = params.data as { event: string; index?: number; run_id?: string };
    const key = `${params.namespace.join("|")}/${data.run_id}`;
    const state = open.get(key);
    const problem = `event ${seq}: ${data.event} in ${key}`;
    switch (data.event) {
      case "message-start":
        if (state) throw new Error(`${problem} while a message is open`);
        open.set(key, { block: null });
        break;
      case "content-block-start":
        if (!state || state.block !== null) throw new Error(`${problem} while a block is open or no message`);
        state.block = data.index!;
        break;
      case "content-block-delta":
      case "content-block-finish":
        if (state?.block !== data.index) throw new Error(`${problem} for a block that is not open`);
        if (data.event === "content-block-finish") state!.block = null;
        break;
      case "message-finish":
        if (!state || state.block !== null) throw new Error(`${problem} while a block is open or no message`);
        open.delete(key);
        break;
    }
  }
}
