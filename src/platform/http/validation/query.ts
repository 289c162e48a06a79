import { z } from "zod";

/** A list in the query: `?id=1&id=2`, and a single `?id=1` is a list of one. */
export function queryList<Item extends z.ZodType>(item: Item) {
  return z.preprocess((value) => (typeof value === "string" ? [value] : value), z.array(item));
}

/** The query as an object: repeated names are lists, others text; the last of a repeated scalar wins. */
export function queryOf(url: string, listNames?: ReadonlySet<string>): Record<string, string | string[]> {
  const start = url.indexOf("?");
  const result: Record<string, string | string[]> = Object.create(null);
  if (start === -1) return result;
  const end = url.indexOf("#", start);
  for (const [name, value] of new URLSearchParams(url.slice(start + 1, end === -1 ? undefined : end))) {
    const known = result[name];
    if (listNames?.has(name)) {
      if (Array.isArray(known)) known.push(value);
      else result[name] = [value];
    } else if (listNames || known === undefined) result[name] = value;
    else if (Array.isArray(known)) known.push(value);
    else result[name] = [known, value];
  }
  return result;
}

/** The names a query schema wants as lists; undefined when the schema is no plain object. */
export function listNamesOf(schema: z.ZodType): ReadonlySet<string> | undefined {
  const object = unwrap(schema, "in");
  if (!(object instanceof z.ZodObject)) return undefined;
  const shape = object.shape as Record<string, z.ZodType>;
  return new Set(
    Object.keys(shape).filter((name) => {
      const field = unwrap(shape[name]!, "out");
      if (field instanceof z.ZodUnion) {
        return (field.options as z.ZodType[]).some((option) => unwrap(option, "out") instanceof z.ZodArray);
      }
      return field instanceof z.ZodArray;
    }),
  );
}

/** Through optional, default, nullable and pipes: `out` finds what a preprocess leads to, `in` what a transform starts from. */
function unwrap(schema: z.ZodType, side: "in" | "out"): z.ZodType {
  let current: z.core.$ZodType = schema;
  for (;;) {
    if (current instanceof z.ZodPipe) {
      const next: z.core.$ZodType = side === "in" ? current.in : current.out;
      current = next instanceof z.ZodTransform ? (side === "in" ? current.out : current.in) : next;
    } else if (
      current instanceof z.ZodOptional ||
      current instanceof z.ZodDefault ||
      current instanceof z.ZodPrefault ||
      current instanceof z.ZodNullable ||
      current instanceof z.ZodCatch ||
      current instanceof z.ZodReadonly
    ) {
      current = current.unwrap();
    } else return current as z.ZodType;
  }
}
