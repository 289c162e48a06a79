import { z } from "zod";
import { roles } from "../../platform/http/access/caller.ts";

/** A uuid of any version: ids given by operators need not follow the version bits. */
export const id = z.guid();
export const time = z.iso.datetime();
export const role = z.enum(roles);

export const name = z
  .string()
  .trim()
  .min(1)
  .max(200)
  // Names end up on terminals and in logs.
  .regex(/^\P{Cc}*$/u, "must not contain control characters");
