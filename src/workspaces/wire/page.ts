import { z } from "zod";

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

export function pageBody(resources: unknown[], query: z.output<typeof pageQuery>) {
  return { resources, offset: query.offset + resources.length };
}
