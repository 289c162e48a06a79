/** Undefined for what is not JSON: half-typed, most of the time. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The field shows it.
    return undefined;
  }
}

/** Words are an answer too. */
export function jsonOrText(text: string): unknown {
  const value = readJson(text);
  return value === undefined ? text : value;
}
