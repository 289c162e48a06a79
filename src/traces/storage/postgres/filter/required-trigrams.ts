import { neededTrigrams } from "../../../../platform/db/trigram-condition.ts";
import type { Filter } from "../../../filter/filter.ts";
import { signedFields } from "./compile-field.ts";

/** The bits every run has that this filter finds; null when it requires none. */
export function requiredTrigrams(filter: Filter): Buffer | null {
  if (filter.kind === "search") {
    const isSigned = filter.field === null || (signedFields as readonly string[]).includes(filter.field);
    return isSigned ? neededTrigrams(filter.tokens) : null;
  }
  if (filter.kind !== "and") return null;
  const all = filter.parts.map(requiredTrigrams).filter((bits) => bits !== null);
  const [first, ...others] = all;
  if (!first) return null;
  const joined = Buffer.from(first);
  for (const bits of others) for (const [index, byte] of bits.entries()) joined[index]! |= byte;
  return joined;
}
