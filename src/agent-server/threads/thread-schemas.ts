import { z } from "zod";
import { jsonObject } from "../../platform/http/json-object.ts";
import { checkpointRef, runCommand } from "../graphs/graph-call-schemas.ts";
import { threadFields, threadStatuses, ttlStrategies } from "./thread.ts";

/** A hundred years; beyond some hundred thousand PostgreSQL has no date. */
const ttlMinutes = z.number().positive().max(52_560_000);
const ttl = z.union([
  ttlMinutes,
  z.object({ ttl: ttlMinutes, strategy: z.enum(ttlStrategies).default("delete") }),
]);

const superstep = z.object({
  updates: z
    .array(z.object({ values: z.unknown().optional(), command: runCommand.nullish(), as_node: z.string() }))
    .min(1),
});

export const threadCreateBody = z
  .looseObject({
    thread_id: z.guid().nullish(),
    metadata: jsonObject.nullish(),
    if_exists: z.enum(["raise", "do_nothing"]).nullish(),
    ttl: ttl.nullish(),
    supersteps: z.array(superstep).nullish(),
  })
  .meta({ id: "ThreadCreate" });

export const threadPatchBody = z
  .looseObject({ metadata: jsonObject.nullish(), ttl: ttl.nullish() })
  .meta({ id: "ThreadPatch" });

const wordsQuery = z
  .string()
  .max(400)
  .describe("Words that must all occur in the thread's values; case does not matter.");

export const threadSearchBody = z
  .looseObject({
    metadata: jsonObject.nullish(),
    ids: z.array(z.guid()).max(1000).nullish(),
    status: z.enum(threadStatuses).nullish(),
    values: jsonObject.nullish(),
    query: wordsQuery.nullish(),
    limit: z.int().min(1).max(1000).default(10),
    offset: z.int().min(0).default(0),
    sort_by: z.enum(["thread_id", "status", "created_at", "updated_at", "state_updated_at"]).nullish(),
    sort_order: z.enum(["asc", "desc"]).nullish(),
    select: z.array(z.enum(threadFields)).nullish(),
    extract: z
      .record(z.string(), z.string().regex(/^(values|metadata|config|interrupts)(\.|\[)/))
      .refine((map) => Object.keys(map).length <= 10, "at most 10 paths")
      .nullish(),
  })
  .meta({ id: "ThreadSearch" });
export type ThreadSearch = z.output<typeof threadSearchBody>;

export const threadCountBody = z
  .looseObject({
    metadata: jsonObject.nullish(),
    values: jsonObject.nullish(),
    status: z.enum(threadStatuses).nullish(),
    query: wordsQuery.nullish(),
  })
  .meta({ id: "ThreadCount" });

export const threadView = z
  .object({
    thread_id: z.guid(),
    created_at: z.string(),
    updated_at: z.string(),
    state_updated_at: z.string(),
    metadata: jsonObject,
    status: z.enum(threadStatuses),
    config: jsonObject,
    values: z.unknown(),
    interrupts: jsonObject,
    error: z.unknown(),
    ttl: jsonObject.nullish(),
    extracted: jsonObject.optional(),
  })
  .meta({ id: "Thread" });

const checkpointView = z
  .object({
    thread_id: z.string().nullable(),
    checkpoint_id: z.string().nullable(),
    checkpoint_ns: z.string(),
    checkpoint_map: jsonObject.nullable(),
  })
  .meta({ id: "Checkpoint" });

export const threadState = z
  .object({
    values: z.unknown(),
    next: z.array(z.string()),
    tasks: z.array(z.looseObject({ id: z.string(), name: z.string(), interrupts: z.array(z.unknown()) })),
    metadata: jsonObject,
    created_at: z.string().nullable(),
    checkpoint: checkpointView.nullable(),
    parent_checkpoint: checkpointView.nullable(),
    interrupts: z.array(z.unknown()),
  })
  .meta({ id: "ThreadState" });

export const stateUpdateBody = z
  .looseObject({
    values: z.union([jsonObject, z.array(z.unknown())]).nullish(),
    as_node: z.string().nullish(),
    checkpoint_id: z.string().nullish(),
    checkpoint: checkpointRef.nullish(),
  })
  .meta({ id: "ThreadStateUpdate" });

export const stateUpdated = z
  .looseObject({ checkpoint: z.looseObject({ thread_id: z.string(), checkpoint_id: z.string() }) })
  .meta({ id: "ThreadStateUpdated" });

export const historyBody = z
  .looseObject({
    limit: z.int().min(1).max(1000).default(1),
    before: z.union([z.string(), checkpointRef]).nullish(),
    metadata: jsonObject.nullish(),
    checkpoint: checkpointRef.nullish(),
  })
  .meta({ id: "ThreadHistory" });
