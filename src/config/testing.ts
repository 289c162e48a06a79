import type { z } from "zod";
import { flag } from "./fields.ts";

/** Settings for those who test a server. */
export const testingSettings = {
  TREADLE_VALIDATE_RESPONSES: flag
    .default(false)
    .describe("Check every response against its published schema (the tests do)."),
};

export function testingConfigOf(env: z.output<z.ZodObject<typeof testingSettings>>) {
  return { validateResponses: env.TREADLE_VALIDATE_RESPONSES };
}
