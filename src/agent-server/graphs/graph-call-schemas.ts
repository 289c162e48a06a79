import { z } from "zod";
import { jsonObject } from "../../platform/http/json-object.ts";

export const runConfig = z
  .looseObject({
    tags: z.array(z.string()).optional(),
    recursion_limit: z.int().min(1).max(10_000).optional(),
    configurable: jsonObject.optional(),
  })
  .meta({ id: "RunConfig" });

const gotoStep = z.union([z.string(), z.object({ node: z.string(), input: z.unknown() })]);

export const runCommand = z
  .object({
    update: z.unknown().optional(),
    resume: z.unknown().optional(),
    goto: z.union([gotoStep, z.array(gotoStep)]).nullish(),
  })
  .meta({ id: "RunCommand" });

export const checkpointRef = z
  .looseObject({
    checkpoint_id: z.string().nullish(),
    checkpoint_ns: z.string().nullish(),
    checkpoint_map: jsonObject.nullish(),
  })
  .meta({ id: "CheckpointRef" });
