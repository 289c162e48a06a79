import { z } from "zod";

/** Not only a uuid: the id of a graph names its default assistant. */
export const assistantParams = z.object({ assistant_id: z.string().min(1) });
export const flag = z.enum(["0", "1", "true", "false"]).transform((text) => text === "1" || text === "true");
