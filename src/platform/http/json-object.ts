import { z } from "zod";

/** Any JSON object, as a field of a body. */
export const jsonObject = z.record(z.string(), z.unknown());
