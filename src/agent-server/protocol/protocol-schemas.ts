import type { ErrorCode } from "@langchain/protocol";
import { z } from "zod";

const errorCodes = [
  "invalid_argument",
  "unknown_command",
  "unknown_error",
  "no_such_run",
  "no_such_subscription",
  "no_such_namespace",
  "no_such_interrupt",
  "no_such_checkpoint",
  "permission_denied",
  "not_supported",
] as const satisfies readonly ErrorCode[];

const meta = z.object({ thread_id: z.string(), applied_through_seq: z.int().min(0) });

const successAnswer = z
  .object({
    type: z.literal("success"),
    id: z.int().min(0),
    result: z.record(z.string(), z.unknown()),
    meta,
  })
  .meta({ id: "CommandSuccess" });

export const errorAnswer = z
  .object({
    type: z.literal("error"),
    id: z.int().min(0).nullable(),
    error: z.enum(errorCodes),
    message: z.string(),
  })
  .meta({ id: "CommandError" });

export const commandAnswer = z.union([successAnswer, errorAnswer]);
