import { z } from "zod";
import { isChannel } from "./subscription-filter.ts";

/** The fields by which a subscriber says what it wants; an unknown channel is refused. */
export const filterFields = {
  channels: z.array(z.string().refine(isChannel, "Not a channel of the streaming protocol")).min(1),
  namespaces: z.array(z.array(z.string())).nullish(),
  depth: z.int().min(0).nullish(),
};

/** Absent means all the events there are. */
export const sinceField = z.int().min(0).nullish();
