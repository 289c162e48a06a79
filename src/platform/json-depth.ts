/** Deeper JSON overflows the stack of code that walks it later: serializers, schemas, the database. */
export const maxJsonDepth = 512;

/** Looked up in the text: parsing alone can already be too much. */
export function isJsonTooDeep(text: string): boolean {
  // Every level takes at least two characters.
  if (text.length <= maxJsonDepth * 2) return false;
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === 0x5c) index++;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxJsonDepth) return true;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return false;
}

/** `JSON.parse` makes `__proto__` an ordinary own key; code that copies it by assignment changes a prototype. */
export function dropPrototypeKeys(text: string, value: unknown): unknown {
  if (text.includes("__proto__") || /\\u005f/i.test(text)) drop(value);
  return value;
}

function drop(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (Object.hasOwn(value, "__proto__")) Reflect.deleteProperty(value, "__proto__");
  for (const inner of Object.values(value)) drop(inner);
}
