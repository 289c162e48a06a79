import type { z } from "zod";
import { maskSetting } from "./parse-settings.ts";

export type DescribedSetting = { name: string; fallback: string; description: string };

/** Name, default and meaning of each setting of a schema. */
export function describeSettings(schema: z.ZodObject): DescribedSetting[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    const fallback = (field as z.ZodType).safeParse(undefined);
    const value = fallback.success && fallback.data !== undefined ? String(fallback.data) : "";
    return { name, fallback: value, description: (field as z.ZodType).description ?? "" };
  });
}

/** Every setting, its value with secrets masked, and whether it was set. */
export function describeValues(schema: z.ZodObject, environment: NodeJS.ProcessEnv) {
  return describeSettings(schema).map(({ name, fallback, description }) => {
    const given = environment[name];
    const source = given === undefined || given === "" ? ("default" as const) : ("environment" as const);
    return { name, value: maskSetting(name, given ?? fallback), source, description };
  });
}
