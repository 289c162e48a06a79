import { z } from "zod";

const refusal =
  "A trace is kept for the retention_days of its project. Leave this out, or change retention_days with PATCH /api/v1/sessions/{session_id}.";

/** `false` is what happens anyway; `true` cannot be done. */
export const extendRetention = z.boolean().refine((asked) => !asked, refusal);
export const extendRetentionQuery = z.object({
  extend_trace_retention: z
    .stringbool()
    .refine((asked) => !asked, refusal)
    .optional(),
});
