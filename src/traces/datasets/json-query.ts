import { z } from "zod";

/** A JSON object in a query parameter, as clients send metadata filters. */
export const jsonQuery = z.string().transform((text, context): Record<string, unknown> => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  context.addIssue({ code: "custom", message: "must be a JSON object" });
  return z.NEVER;
});
