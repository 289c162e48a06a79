import { z } from "zod";

/** By key: how many there are and their mean. */
export const feedbackSummary = z.record(z.string(), z.looseObject({ n: z.int(), avg: z.number().nullish() }));
