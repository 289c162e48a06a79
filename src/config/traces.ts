import { resolve } from "node:path";
import type { z } from "zod";
import { flag, text } from "./fields.ts";

export const traceSettings = {
  TREADLE_TRACING: flag.default(true).describe("Trace the runs of the built-in graphs and of deployments."),
  TREADLE_MODEL_PRICES_FILE: text
    .optional()
    .describe("A JSON file with model prices, which take precedence over the built-in ones; docs/traces.md."),
};

export function traceConfigOf(env: z.output<z.ZodObject<typeof traceSettings>>) {
  return {
    tracing: env.TREADLE_TRACING,
    modelPricesFile: env.TREADLE_MODEL_PRICES_FILE && resolve(env.TREADLE_MODEL_PRICES_FILE),
  };
}
