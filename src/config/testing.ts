import type { z } from "zod";
import { flag, text } from "./fields.ts";

/** Settings that are only for tests of a server. */
export const testingSettings = {
  TREADLE_VALIDATE_RESPONSES: flag
    .default(false)
    .describe("Check every response against its published schema (the tests do)."),
  TREADLE_CONSOLE_FOLDER: text
    .optional()
    .describe(
      "Where the console's pages were built, if not in their own folder (the tests build them elsewhere).",
    ),
};

export function testingConfigOf(env: z.output<z.ZodObject<typeof testingSettings>>) {
  return { validateResponses: env.TREADLE_VALIDATE_RESPONSES, consoleFolder: env.TREADLE_CONSOLE_FOLDER };
}
