/** What a run was configured with, as its kwargs hold it. */
export type LastConfig = { configurable?: Record<string, unknown> };

const opening = '{"config":';

/**
 * The config from the beginning of a run's kwargs, which is where it is written. Undefined when it does not stand there, or
 * not all of it: then the whole text has to be read.
 */
export function leadingConfig(beginning: string): LastConfig | undefined {
  if (!beginning.startsWith(`${opening}{`)) return undefined;
  let depth = 0;
  let quoted = false;
  for (let at = opening.length; at < beginning.length; at++) {
    const character = beginning[at];
    if (quoted) {
      if (character === "\\") at += 1;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === "{") depth += 1;
    else if (character === "}") {
      depth -= 1;
      if (depth === 0) return JSON.parse(beginning.slice(opening.length, at + 1)) as LastConfig;
    }
  }
  return undefined;
}
