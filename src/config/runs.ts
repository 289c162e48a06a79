import type { z } from "zod";
import { amount, secret, whole } from "./fields.ts";

/** Settings of an agent server's runs and streams that have the same names in every way to run it. */
export const runSettings = {
  TREADLE_RUN_LEASE_SECONDS: amount(1, 600)
    .default(20)
    .describe("How long after a process dies another one takes over its runs."),
  RESUMABLE_STREAM_TTL_SECONDS: amount(1, 86_400)
    .default(120)
    .describe("How long clients can rejoin the stream of a run after the run has ended."),
  TREADLE_WEBHOOK_SECRET: secret
    .optional()
    .describe(
      "Signs the webhooks of runs (HMAC-SHA256, header x-treadle-signature); without it they are unsigned.",
    ),
};

/** What each kind of server calls by a name of its own. */
export const runFields = {
  concurrency: whole(1, 1_000).default(100),
  timeoutSeconds: amount(1, 604_800).default(86_400),
  protocolEvents: whole(100, 1_000_000)
    .default(20_000)
    .describe("Events of the streaming protocol that each thread keeps for replay."),
};

/** Settings of the platform's own agent server. */
export const ownRunSettings = {
  TREADLE_RUN_CONCURRENCY: runFields.concurrency.describe(
    "Runs that this server executes at once, its worker processes together; others wait in the queue.",
  ),
  TREADLE_RUN_TIMEOUT_SECONDS: runFields.timeoutSeconds.describe("Timeout of one run."),
  ...runSettings,
  TREADLE_PROTOCOL_EVENTS: runFields.protocolEvents,
};

type Given = {
  settings: z.output<z.ZodObject<typeof runSettings>>;
  concurrency: number;
  timeoutSeconds: number;
  protocolEvents: number;
};

export function runConfigOf({ settings, concurrency, timeoutSeconds, protocolEvents }: Given) {
  return {
    runConcurrency: concurrency,
    runTimeoutMs: timeoutSeconds * 1000,
    runLeaseMs: settings.TREADLE_RUN_LEASE_SECONDS * 1000,
    /** How long the stream of a run can be joined again after its end. */
    streamKeepMs: settings.RESUMABLE_STREAM_TTL_SECONDS * 1000,
    protocolEvents,
    webhookSecret: settings.TREADLE_WEBHOOK_SECRET,
  };
}
