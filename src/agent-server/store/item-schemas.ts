import { z } from "zod";
import { jsonObject } from "../../platform/http/json-object.ts";
import { type FoundItem, keyFault, labelFault, namespaceFault, splitNamespace } from "./item.ts";

type Check = (labels: readonly unknown[]) => { path: number[]; message: string } | null;

function labels(check: Check) {
  return z.array(z.string()).superRefine((value, context) => {
    const fault = check(value);
    if (fault) context.addIssue({ code: "custom", path: fault.path, message: fault.message });
  });
}

const itemNamespace = labels(namespaceFault).describe(
  "Path of the item, from the root. Labels must not be empty or contain a period.",
);
const namespacePart = labels(labelFault);

const itemKey = z.string().superRefine((value, context) => {
  const message = keyFault(value);
  if (message) context.addIssue({ code: "custom", message });
});

const limit = (fallback: number) =>
  z
    .int()
    .min(1)
    .max(1000)
    .nullish()
    .transform((value) => value ?? fallback);
const offset = z
  .int()
  .min(0)
  .nullish()
  .transform((value) => value ?? 0);

export const itemPutBody = z
  .looseObject({
    namespace: itemNamespace,
    key: itemKey,
    value: jsonObject,
    index: z
      .union([z.literal(false), z.array(z.string().min(1).max(500)).max(100)])
      .nullish()
      .describe("Paths to search by meaning, `false` for none, null for the configured ones."),
    ttl: z
      .number()
      .positive()
      .max(100_000_000)
      .nullish()
      .describe("Minutes to live. Null: for ever. Left out: as configured."),
  })
  .meta({ id: "StorePut" });

export const itemDeleteBody = z
  .looseObject({ namespace: itemNamespace, key: itemKey })
  .meta({ id: "StoreDelete" });

/** The namespace as one text with periods, or as a repeated parameter. */
const queryNamespace = z.preprocess(
  (value) =>
    typeof value === "string" ? splitNamespace(value) : Array.isArray(value) ? joined(value) : value,
  itemNamespace,
);

function joined(values: unknown[]): unknown[] {
  return values.flatMap((value) => (typeof value === "string" ? splitNamespace(value) : [value]));
}

export const itemGetQuery = z.object({
  namespace: queryNamespace,
  key: itemKey,
  refresh_ttl: z
    .enum(["true", "false", "1", "0"])
    .transform((text) => text === "true" || text === "1")
    .optional(),
});

export const itemSearchBody = z
  .looseObject({
    namespace_prefix: namespacePart.nullish(),
    filter: jsonObject.nullish(),
    limit: limit(10),
    offset,
    query: z.string().max(100_000).nullish(),
    refresh_ttl: z.boolean().nullish(),
  })
  .meta({ id: "StoreSearch" });

export const namespaceSearchBody = z
  .looseObject({
    prefix: namespacePart.nullish().describe('"*" stands for any one label.'),
    suffix: namespacePart.nullish().describe('"*" stands for any one label.'),
    max_depth: z.int().min(1).max(1000).nullish(),
    limit: limit(100),
    offset,
  })
  .meta({ id: "StoreNamespaceSearch" });

export const itemView = z
  .object({
    namespace: z.array(z.string()),
    key: z.string(),
    value: jsonObject,
    created_at: z.string(),
    updated_at: z.string(),
    score: z.number().optional(),
  })
  .meta({ id: "StoreItem" });

export function toItemView(item: FoundItem): z.output<typeof itemView> {
  return {
    namespace: item.namespace,
    key: item.key,
    value: item.value,
    created_at: item.created_at.toISOString(),
    updated_at: item.updated_at.toISOString(),
    ...(item.score === undefined ? {} : { score: item.score }),
  };
}
