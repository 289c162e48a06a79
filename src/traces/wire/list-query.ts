import { z } from "zod";
import { isJsonTooDeep, maxJsonDepth } from "../../platform/json-depth.ts";

/** Which part of a list to answer. */
export function page(most: number) {
  return {
    limit: z.coerce.number().int().min(1).max(most).default(100),
    offset: z.coerce.number().int().min(0).default(0),
  };
}

/** A JSON object in a query parameter, as clients send metadata filters. */
export const jsonQuery = z.string().transform((text, context): Record<string, unknown> => {
  let value: unknown;
  try {
    value = isJsonTooDeep(text) ? undefined : JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  context.addIssue({ code: "custom", message: `must be a JSON object, at most ${maxJsonDepth} levels deep` });
  return z.NEVER;
});
