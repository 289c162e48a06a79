import { z } from "zod";

const refusal =
  "A trace is kept as long as its project says. Leave this out, or set retention_days of the project with PATCH /api/v1/sessions/{session_id}.";

/** Clients may say that a trace shall not be kept longer, which it is not; the other wish cannot be met. */
export const extendRetention = z.boolean().refine((asked) => !asked, refusal);
export const extendRetentionQuery = z.object({
  extend_trace_retention: z
    .stringbool()
    .refine((asked) => !asked, refusal)
    .optional(),
});
