import { z } from "zod";
import { readTime } from "./wire-time.ts";

export const time = z
  .union([z.string(), z.number()])
  .transform((value, context) => {
    const text = readTime(value);
    if (text !== null) return text;
    context.addIssue({ code: "custom", message: "Input should be an ISO 8601 time" });
    return z.NEVER;
  })
  .meta({ type: "string", format: "date-time" });
