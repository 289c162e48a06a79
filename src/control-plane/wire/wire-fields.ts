import { z } from "zod";

/** A uuid of any version, in lower case: the database writes them so, and some are compared as text. */
export const id = z.guid().toLowerCase();
export const time = z.iso.datetime();

export const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20).describe("How many to return."),
  offset: z.coerce.number().int().min(0).max(2_147_483_647).default(0).describe("How many to skip."),
});

export function pageOf<Schema extends z.ZodType>(resource: Schema) {
  return z.object({
    resources: z.array(resource),
    offset: z.number().int().describe("The `offset` of the next page."),
  });
}

export function pageBody<Resource>(resources: Resource[], query: { offset: number }) {
  return { resources, offset: query.offset + resources.length };
}

/** `a,b,c` in the query, also given several times. */
export const commaSeparated = z
  .preprocess((value) => (Array.isArray(value) ? value.join(",") : value), z.string())
  .transform((text) =>
    text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== ""),
  );
