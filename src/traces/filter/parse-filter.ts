import type { Filter } from "./filter.ts";
import { checkSyntax } from "./filter-check.ts";
import { FilterFault, filterError, type Location } from "./filter-error.ts";
import { parseSyntax } from "./filter-parser.ts";

/**
 * Reads a filter. Throws the caller's 422, naming line, column and offset and what was expected there;
 * `loc` is the request field the text stood in.
 */
export function parseFilter(text: string, loc: Location = ["body", "filter"]): Filter {
  try {
    return checkSyntax(parseSyntax(text));
  } catch (error) {
    if (error instanceof FilterFault) throw filterError(text, error, loc);
    throw error;
  }
}
